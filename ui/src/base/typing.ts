// SPDX-License-Identifier: Apache-2.0

/** Whether a key goes into a text that is being written, or to a dialog, which Esc closes. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.target as HTMLElement | null;
  return !!target && (target.isContentEditable || !!target.closest?.('dialog') || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));
}
