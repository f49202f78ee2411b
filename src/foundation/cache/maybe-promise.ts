/** A value that may already be available. Awaiting an available value costs more than finding a page in memory. */
export type MaybePromise<T> = T | Promise<T>

/** Continues with a value, synchronously if it is available. */
export function whenKnown<T, Result>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}
