import { type Operation, operation } from '../../api/contract/contract.ts'
import { COMMON_PROBLEMS, describePage, NOT_MODIFIED } from '../../api/contract/describe.ts'
import { type CodeInPath, codeIn, fromCatalogue, namesOf, ofCatalogue } from '../contract.ts'
import type { OccupationOptions } from '../operations.ts'
import { EXAMPLE_GROUPS } from '../records/example.ts'
import { readGroup } from './groups.ts'
import { GROUP_SCHEMAS, OccupationGroups } from './schema.ts'

export function getGroup({ catalogue, anonymous }: OccupationOptions): Operation {
  const nameOf = namesOf('/occupation-groups')
  return operation({
    ...ofCatalogue(anonymous),
    name: 'occupation-group',
    id: 'getOccupationGroup',
    summary: 'Get a group',
    description:
      'The major group with a code, the minor group with it, or both: the two kinds are numbered separately.',
    method: 'GET',
    path: '/occupation-groups/{code}',
    request: { path: codeIn('The code of a major or a minor group.') },
    schemas: GROUP_SCHEMAS,
    responses: {
      200: describePage(OccupationGroups, 'The groups with this code.', EXAMPLE_GROUPS),
      304: NOT_MODIFIED,
    },
    problems: {
      ...COMMON_PROBLEMS,
      'no-such-group': 'No group has this code. `similarCodes` lists codes that resemble it.',
    },
  }).handle(
    ...fromCatalogue(
      catalogue,
      ({ path }: CodeInPath) => nameOf(path.code),
      (name, { path }) => catalogue.document(name, (reader) => readGroup(reader, path.code), { lasts: true }),
    ),
  )
}
