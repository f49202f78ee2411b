import type { Operation } from '../../api/contract/contract.ts'
import { describePage, NOT_MODIFIED } from '../../api/contract/describe.ts'
import type { Catalogue } from '../records/catalogue.ts'
import { type CodeInPath, codeIn, fromCatalogue, readingOperations } from '../records/contract.ts'
import { readGroup, readGroups } from './groups.ts'
import { EXAMPLE_GROUPS, OccupationGroups } from './schema.ts'

const PATH = '/occupation-groups'

export function groupOperations(catalogue: Catalogue, anonymous: boolean): readonly Operation[] {
  const operation = readingOperations(anonymous)
  return [
    operation({
      name: 'occupation-groups',
      id: 'listOccupationGroups',
      summary: 'List groups',
      description:
        'Every major and minor group that an occupation belongs to, by code, with the number of its occupations.',
      method: 'GET',
      path: PATH,
      responses: {
        200: describePage(OccupationGroups, 'The groups.', EXAMPLE_GROUPS),
        304: NOT_MODIFIED,
      },
    }).handle(
      ...fromCatalogue(
        catalogue,
        () => ({ key: PATH }),
        ({ key }) => catalogue.rendered(key, readGroups, { lasts: true }),
      ),
    ),
    operation({
      name: 'occupation-group',
      id: 'getOccupationGroup',
      summary: 'Get a group',
      description:
        'The major group with a code, the minor group with it, or both: the two kinds are numbered separately.',
      method: 'GET',
      path: `${PATH}/{code}`,
      request: { path: codeIn('The code of a major or a minor group.') },
      responses: {
        200: describePage(OccupationGroups, 'The groups with this code.', EXAMPLE_GROUPS),
        304: NOT_MODIFIED,
      },
      problems: {
        'no-such-group': 'No group has this code. `similarCodes` lists codes that resemble it.',
      },
    }).handle(
      ...fromCatalogue(
        catalogue,
        ({ path }: CodeInPath) => ({ key: `${PATH}/${path.code}` }),
        ({ key }, { path }) =>
          catalogue.rendered(key, (reader) => readGroup(reader, path.code), { lasts: true }),
      ),
    ),
  ]
}
