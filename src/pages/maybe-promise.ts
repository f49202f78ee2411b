/** A value that may be at hand already: waiting for one that is costs a request more than finding its page. */
export type MaybePromise<T> = T | Promise<T>

/** Goes on with a value, at once where it is at hand. */
export function whenKnown<T, Result>(
  value: MaybePromise<T>,
  next: (value: T) => MaybePromise<Result>,
): MaybePromise<Result> {
  return value instanceof Promise ? value.then(next) : next(value)
}
