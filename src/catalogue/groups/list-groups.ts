import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describePage, NOT_MODIFIED } from '../../api/contract/describe.ts'
import { digestQuery } from '../../api/serving/page.ts'
import { fromCatalogue, ofCatalogue } from '../contract.ts'
import type { OccupationOptions } from '../operations.ts'
import { EXAMPLE_GROUPS } from '../records/example.ts'
import { readGroups } from './groups.ts'
import { GROUP_SCHEMAS, OccupationGroups } from './schema.ts'

export function listGroups({ catalogue, anonymous }: OccupationOptions): Operation {
  const name = { key: '/occupation-groups', digest: digestQuery('/occupation-groups') }
  return operation({
    ...ofCatalogue(anonymous),
    name: 'occupation-groups',
    id: 'listOccupationGroups',
    summary: 'List groups',
    description:
      'Every major and minor group that an occupation belongs to, by code, with the number of its occupations.',
    method: 'GET',
    path: '/occupation-groups',
    schemas: GROUP_SCHEMAS,
    responses: {
      200: describePage(OccupationGroups, 'The groups.', EXAMPLE_GROUPS),
      304: NOT_MODIFIED,
    },
    problems: COMMON_PROBLEMS,
  }).handle(
    ...fromCatalogue(
      catalogue,
      () => name,
      () => catalogue.document(name, readGroups, { lasts: true }),
    ),
  )
}
