import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describeDocument } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import { Type } from '../../foundation/schema/type.ts'
import { readById, withdraw } from './decisions.ts'
import type { ReviewOptions } from './operations.ts'
import { renderTitles } from './render-titles.ts'
import { EXAMPLE_REVIEWED, REVIEW_SCHEMAS, ReviewedCodings } from './schema.ts'

export function withdrawCoding({ database }: ReviewOptions): Operation {
  return operation({
    name: 'withdraw-coding',
    id: 'withdrawCoding',
    summary: 'Withdraw a decision',
    description: "Withdraws the client's own decision about a job title. Those of other reviewers stay.",
    tag: 'Occupations',
    method: 'DELETE',
    path: '/confirmed-codings/{id}',
    access: withScope('codings:confirm'),
    limit: 'codings',
    request: {
      path: Type.Object({ id: Type.String({ description: 'The ID of the title.', maxLength: 64 }) }),
    },
    schemas: { ...REVIEW_SCHEMAS, ReviewedCodings },
    responses: {
      200: describeDocument(ReviewedCodings, 'The title, if other reviewers have decided about it.', {
        items: [EXAMPLE_REVIEWED],
      }),
    },
    problems: {
      ...COMMON_PROBLEMS,
      'malformed-body': 'The request has a body.',
      'not-found': 'The client has decided nothing about this title.',
    },
  }).handle(async ({ path: { id }, principal, refuse }) => {
    const left = await database.write('codings', async (writer) => {
      const count = await withdraw(writer, principal?.client ?? '', id)
      return count === 0 ? undefined : await renderTitles(writer, await readById(writer, id))
    })
    if (left === undefined)
      return refuse(
        'not-found',
        'The client of this key has no decision about a title with this ID. Nothing was changed.',
      )
    return document({ items: left })
  })
}
