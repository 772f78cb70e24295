// What happened to one block: its states over time and the fragmentation events in it.

import type { Film } from "./film";
import type { EventColumns } from "./machine";

export interface Stay {
  from: number;
  to: number;
  byte: number;
}

/** States of a block, each from the sample that first shows it to the one that shows the next. */
export function stays(film: Film, times: ArrayLike<number>, block: number, duration: number): Stay[] {
  const changes = film.history(block);
  return changes.map(({ sample, byte }, i) => ({
    from: i === 0 ? 0 : times[sample],
    to: i + 1 < changes.length ? times[changes[i + 1].sample] : duration,
    byte,
  }));
}

export interface BlockEvent {
  time: number;
  kind: number;
  allocType: number;
  blockType: number;
  allocOrder: number;
  fallbackOrder: number;
}

/** Events of a block, in order. */
export function eventsOf(columns: EventColumns, block: number): BlockEvent[] {
  const found: BlockEvent[] = [];
  for (let i = 0; i < columns.block.length; i++) {
    if (columns.block[i] !== block) continue;
    found.push({
      time: columns.time[i],
      kind: columns.kind[i],
      allocType: columns.allocType[i],
      blockType: columns.blockType[i],
      allocOrder: columns.allocOrder[i],
      fallbackOrder: columns.fallbackOrder[i],
    });
  }
  return found.sort((a, b) => a.time - b.time);
}

const EVENT_TYPES = ["unmovable", "movable", "reclaimable", "highatomic", "CMA", "isolate"];
const type = (number: number): string => EVENT_TYPES[number] ?? `type ${number}`;

/** An event as a sentence of one line. */
export function describeEvent(event: BlockEvent): string {
  const asked = `${type(event.allocType)} request of order ${event.allocOrder}`;
  switch (event.kind) {
    case 0:
      return `claim: ${asked} took the whole ${type(event.blockType)} block`;
    case 1:
      return `steal: ${asked} took order ${event.fallbackOrder} of a ${type(event.blockType)} block and its type`;
    case 2:
      return `pollute: ${asked} took order ${event.fallbackOrder} of a block that stays ${type(event.blockType)}`;
    default:
      return `event ${event.kind}: ${asked}`;
  }
}
