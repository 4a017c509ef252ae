// SPDX-License-Identifier: Apache-2.0
// Pages of one trace, in the order of the tabs.
export const PAGES = ['summary', 'timeline', 'models', 'operators', 'statistics', 'flame', 'source', 'memory'];
