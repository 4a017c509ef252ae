// SPDX-License-Identifier: Apache-2.0
// A value that others can watch. Watchers are called once per change, after it; batch() puts several changes together.

export interface Signal<T> {
  readonly value: T;
  set(next: T): void;
  update(change: (now: T) => T): void;
  watch(watcher: () => void): () => void;
}

let depth = 0;
const waiting = new Set<() => void>();

function tell(watchers: Set<() => void>): void {
  for (const watcher of watchers) waiting.add(watcher);
  if (depth === 0) flush();
}

function flush(): void {
  while (waiting.size) {
    const now = [...waiting];
    waiting.clear();
    for (const watcher of now) watcher();
  }
}

export function batch(changes: () => void): void {
  depth++;
  try {
    changes();
  } finally {
    depth--;
    if (depth === 0) flush();
  }
}

export function signal<T>(first: T, same: (a: T, b: T) => boolean = Object.is): Signal<T> {
  let value = first;
  const watchers = new Set<() => void>();
  return {
    get value() {
      return value;
    },
    set(next) {
      if (same(value, next)) return;
      value = next;
      tell(watchers);
    },
    update(change) {
      this.set(change(value));
    },
    watch(watcher) {
      watchers.add(watcher);
      return () => watchers.delete(watcher);
    },
  };
}
