// SPDX-License-Identifier: Apache-2.0
/* The parts of the report, each a key of an open object; nothing where nothing is known. */
#ifndef IFG_EXPORT_DOCUMENTS_INTERNAL_H
#define IFG_EXPORT_DOCUMENTS_INTERNAL_H

#include "analyze/report.h"
#include "base/json.h"

void document_samples_of(struct ifg_json *json, const struct report *report,
                         const struct ml_model *model);
void document_device_of(struct ifg_json *json, const struct report *report,
                        const struct ml_model *model);
void document_device(struct ifg_json *json, const struct report *report);
void document_samples(struct ifg_json *json, const struct report *report);
void document_machine(struct ifg_json *json, const struct report *report);
void document_energy_of(struct ifg_json *json, const struct report *report,
                        const struct ml_model *model);

/* Only where somebody looked at the files of models. */
void document_roofline_of(struct ifg_json *json, const struct report *report, size_t limit,
                          const struct ml_model *model);
void document_roofline_of_type(struct ifg_json *json, const struct report *report,
                               const struct ml_model *model, const char *type);

#endif
