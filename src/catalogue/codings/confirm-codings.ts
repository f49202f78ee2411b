import { withScope } from '../../api/contract/access-rules.ts'
import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describeDocument, JSON_BODY_PROBLEMS } from '../../api/contract/describe.ts'
import { document } from '../../api/contract/results.ts'
import { describeMissing, findMissingCodes } from '../history/missing-codes.ts'
import { keyOfTitle, readTitles, storeDecisions, TooManyDecisions } from './decisions.ts'
import type { ReviewOptions } from './operations.ts'
import { renderTitles } from './render-titles.ts'
import { decisionsBody, EXAMPLE_REVIEWED, REVIEW_SCHEMAS, ReviewedCodings } from './schema.ts'
import { findTitleFault } from './titles.ts'

export function confirmCodings({ database }: ReviewOptions): Operation {
  return operation({
    name: 'confirm-codings',
    id: 'confirmCodings',
    summary: 'Confirm codings',
    description:
      'Stores what a reviewer has decided about job titles: the code, or that none is known. A decision replaces the earlier one of the same client, never that of another: if they disagree, the title is `disputed`. Confirmed titles become names of the search at the next revision of the catalogue.',
    tag: 'Occupations',
    method: 'POST',
    path: '/confirmed-codings',
    access: withScope('codings:confirm'),
    limit: 'codings',
    request: { body: { json: decisionsBody, maxBytes: 2 ** 20 } },
    schemas: { ...REVIEW_SCHEMAS, ReviewedCodings },
    responses: {
      200: describeDocument(ReviewedCodings, 'The titles of the request, in its order.', {
        items: [EXAMPLE_REVIEWED],
      }),
    },
    problems: {
      ...COMMON_PROBLEMS,
      'invalid-body': 'The body has a field that is wrong, too many items, or a title twice.',
      ...JSON_BODY_PROBLEMS,
      'unprocessable-content':
        'The catalogue does not have a code, or there are too many titles. Nothing was stored.',
    },
  }).handle(async ({ body: { items }, principal, refuse }) => {
    const places = new Map<string, number>()
    for (const [index, { title }] of items.entries()) {
      const fault = findTitleFault(title)
      if (fault !== undefined) refuse('invalid-body', `items[${index}].title ${fault}. Nothing was stored.`)
      const key = keyOfTitle(title)
      const first = places.get(key)
      if (first !== undefined)
        refuse(
          'invalid-body',
          `items[${index}].title is the title of items[${first}] again. Send one decision for each title. Nothing was stored.`,
        )
      places.set(key, index)
    }
    const decisions = items.map(({ title, language, occupationCode }) => ({
      title,
      language,
      code: occupationCode,
    }))
    const reviewed = await database.write('codings', async (writer) => {
      const missing = await findMissingCodes(
        writer,
        decisions.flatMap(({ code }) => code ?? []),
      )
      for (const [index, { code }] of decisions.entries()) {
        const found = missing.get(code ?? '')
        if (found !== undefined)
          refuse(
            'unprocessable-content',
            `items[${index}].occupationCode ${describeMissing(found)}. Nothing was stored.`,
          )
      }
      await storeDecisions(writer, principal?.client ?? '', decisions).catch((error: unknown) => {
        if (!(error instanceof TooManyDecisions)) throw error
        return refuse('unprocessable-content', `${error.message}. Nothing was stored.`)
      })
      const titles = items.map(({ title }) => title)
      return await renderTitles(writer, await readTitles(writer, titles))
    })
    return document({ items: reviewed })
  })
}
