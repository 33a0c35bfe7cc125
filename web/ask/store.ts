// The page's state: one object, replaced on every change; views watch the part they show.

export class Store<S extends object> {
  #state: S;
  readonly #watchers = new Set<() => void>();

  constructor(state: S) {
    this.#state = state;
  }

  get state(): Readonly<S> {
    return this.#state;
  }

  update(change: Partial<S>): void {
    this.#state = { ...this.#state, ...change };
    for (const watcher of this.#watchers) watcher();
  }

  /** Calls `show` now and whenever one of the selected values is another than before. */
  watch<T extends unknown[]>(select: (state: Readonly<S>) => [...T], show: (...values: NoInfer<T>) => void): void {
    let shown: [...T] | undefined;
    const watcher = (): void => {
      const values = select(this.#state);
      if (shown && values.every((value, i) => Object.is(value, shown?.[i]))) return;
      shown = values;
      show(...values);
    };
    this.#watchers.add(watcher);
    watcher();
  }
}
