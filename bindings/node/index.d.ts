// SPDX-License-Identifier: Apache-2.0
export type Details = Record<string, string | number>;
export type Category = 'prepare-ep' | 'specialization' | 'load' | 'setup' | 'inference';
export type Level = 'trace' | 'debug' | 'info' | 'warning' | 'error';

/** Runs a function in a zone and returns what it returns. One that goes on later is an async span; each of its turns is a zone. */
export function zone<T>(name: string, callback: () => T): T;
export function zone<T>(name: string, details: Details, callback: () => T): T;

/** The same function, in a zone whenever it is called. */
export function wrap<F extends (...values: any[]) => any>(name: string, callback: F): F;

export class Model {
    constructor(name: string, options?: { path?: string; runtime?: string; devices?: string });
    readonly name: string;
    /** Runs a function as an event of the model; an async function is one until it is settled. */
    event<T>(category: Category, callback: () => T): T;
    event<T>(category: Category, details: Details & { function?: string }, callback: () => T): T;
}

/** Work that is handed on, from zone to zone. */
export function flow(name: string, id: number): { begin(): void; step(): void; end(): void };

export function counter(name: string, value: number): void;
export function message(text: string, level?: Level): void;
export function frame(name: string): void;
export function threadName(name: string): void;
export function isRecording(): boolean;
