import { Problem } from '../../api/request/problems.ts'

/** A problem that is stored with the work that it ended, or sent by the process that found it. */
export type Refusal = Pick<Problem, 'slug' | 'detail' | 'headers' | 'members'>

export function toRefusal({ slug, detail, headers, members }: Problem): Refusal {
  return { slug, detail, headers, members }
}

export function toProblem({ slug, detail, ...options }: Refusal): Problem {
  return new Problem(slug, detail, options)
}
