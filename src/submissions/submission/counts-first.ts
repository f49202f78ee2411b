/**
 * The order in which the submissions of an organisation count for a return, in SQL: the last that was submitted, which
 * may be an older one that was reopened, or else the newest.
 */
export const countsFirst = (submission: string) =>
  `case when ${submission}.ended = 'Submitted' then 0 else 1 end,
   case when ${submission}.ended = 'Submitted' then ${submission}.ended_at else ${submission}.created end desc,
   ${submission}.token`
