import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describePage, NOT_MODIFIED } from '../../api/contract/describe.ts'
import { RemovedOccupationProblemBody, SimilarCodesProblemBody } from '../../api/contract/problems.ts'
import { type CodeInPath, codeIn, fromCatalogue, namesOf, ofCatalogue } from '../contract.ts'
import type { OccupationOptions } from '../operations.ts'
import { EXAMPLE_PAGE } from './example.ts'
import { readRecord } from './lookup.ts'
import { OccupationRecord } from './schema.ts'

export function getOccupation({ catalogue, anonymous }: OccupationOptions): Operation {
  const nameOf = namesOf('/occupations')
  return operation({
    ...ofCatalogue(anonymous),
    name: 'occupation',
    id: 'getOccupation',
    summary: 'Get an occupation',
    description: 'The record of one occupation, byte for byte as in the list.',
    method: 'GET',
    path: '/occupations/{code}',
    request: { path: codeIn('The occupation code.') },
    schemas: {
      OccupationRecord,
      SimilarCodesProblem: SimilarCodesProblemBody,
      RemovedOccupationProblem: RemovedOccupationProblemBody,
    },
    responses: {
      200: describePage(OccupationRecord, 'The record.', EXAMPLE_PAGE.data[0] ?? {}),
      304: NOT_MODIFIED,
    },
    problems: {
      ...COMMON_PROBLEMS,
      'no-such-occupation': 'No occupation has this code. `similarCodes` lists codes that resemble it.',
      'occupation-removed':
        'The occupation was removed from the catalogue: `removedDate` says when, and `replacedBy` lists its successors.',
    },
  }).handle(
    ...fromCatalogue(
      catalogue,
      ({ path }: CodeInPath) => nameOf(path.code),
      (name, { path }) => catalogue.document(name, (reader) => readRecord(reader, path.code)),
    ),
  )
}
