// SPDX-License-Identifier: Apache-2.0
// Which of the arrows that are in the page a slice or a stretch of time has, by the rules of the server.
import type { Arrow, Flows } from './types.ts';

/** Answers for parts of the time as one: an arrow that reaches into two parts is in both. */
export function joinFlows(parts: Flows[]): Flows {
  const arrows = new Map(parts.flatMap((part) => part.arrows).map((arrow) => [`${arrow.kind} ${arrow.flow} ${arrow.id} ${arrow.from.ns} ${arrow.to.ns}`, arrow]));
  return { arrows: [...arrows.values()], left_out: parts.reduce((sum, part) => sum + part.left_out, 0), kinds: parts[0]?.kinds ?? [] };
}

/** All arrows of the flows that touch it. */
export function flowsOfSlice(all: Flows, slice: number): Flows {
  const touches = (arrow: Arrow): boolean => arrow.from.slice === slice || arrow.to.slice === slice;
  const flows = new Set(all.arrows.filter(touches).map((arrow) => arrow.flow));
  return { ...all, arrows: all.arrows.filter((arrow) => (arrow.flow === null ? touches(arrow) : flows.has(arrow.flow))), left_out: 0 };
}

export function flowsOfRange(all: Flows, from: number, to: number): Flows {
  return { ...all, arrows: all.arrows.filter((arrow) => Math.min(arrow.from.ns, arrow.to.ns) <= to && Math.max(arrow.from.ns, arrow.to.ns) >= from) };
}
