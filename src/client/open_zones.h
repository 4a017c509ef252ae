// SPDX-License-Identifier: Apache-2.0
/*
 * For hooks whose ranges do not have to nest: what became of a zone that this thread began, and a
 * way to give it up. Between two libraries of the same version, not for programs.
 */
#ifndef IFG_CLIENT_OPEN_ZONES_H
#define IFG_CLIENT_OPEN_ZONES_H

#include <inferogram/inferogram.h>

/* How many zones of this thread were begun after it and are still open; -1: it is not open any
 * more, because one around it has ended. */
IFG_API int ifg_zone_covers(ifg_zone zone);

/* Forgets a zone and those inside of it: nothing of them is recorded, nothing is counted. */
IFG_API void ifg_zone_give_up(ifg_zone zone);

/* An open zone that has ended in another way, while others are open inside of it: it keeps its
 * place among the open zones, and nobody sees it there. */
IFG_API void ifg_zone_hide(ifg_zone zone);

/* The number of a location, which it gets now if it is new. Never 0. */
IFG_API uint32_t ifg_location_number(ifg_location *location);

#endif
