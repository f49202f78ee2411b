/**
 * The line that turns the logit of a probability into that of a certainty. Fitted to half of the labelled titles of
 * three sources with equal weights, and checked with the other half: `bench/search/goals.ts`.
 */
const CALIBRATION = { slope: 0.69, offset: -0.2 }

/** The certainty that an occupation, or a group, with this probability is right. */
export function calibrate(probability: number): number {
  // Because of rounding, a sum can slightly exceed 1.
  if (probability >= 1) return 1
  const odds = (probability / (1 - probability)) ** CALIBRATION.slope * Math.exp(CALIBRATION.offset)
  return odds / (1 + odds)
}
