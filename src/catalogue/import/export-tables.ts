import { join } from 'node:path'
import { stringify } from 'csv-stringify/sync'
import { replaceFile } from '../../foundation/command-line/output-file.ts'
import type { Database } from '../../foundation/database/database.ts'
import { UserError } from '../../foundation/faults/user-error.ts'
import { makeFolder } from '../../foundation/make-folder.ts'
import { readDocuments } from '../records/read-documents.ts'
import type { OccupationRecord } from '../records/schema.ts'

type Cell = string | number | undefined

interface Field {
  readonly name: string
  readonly type: 'string' | 'integer' | 'number' | 'datetime'
  readonly description: string
  readonly enum?: readonly string[]
  readonly required?: boolean
}

interface TableOfRecords {
  readonly name: string
  readonly description: string
  readonly fields: readonly Field[]
  readonly primaryKey: readonly string[]
  rows(record: OccupationRecord): Iterable<readonly Cell[]>
}

const field = (name: string, description: string, more: Partial<Field> = {}): Field => ({
  name,
  type: 'string',
  description,
  ...more,
})
const CODE = field('occupationCode', 'The code of the occupation.', { required: true })
const LANGUAGE = field('language', 'en: New Zealand English; mi: te reo Māori.', {
  enum: ['en', 'mi'],
  required: true,
})
const POSITION = field('position', 'The place in its list, from 1.', { type: 'integer', required: true })
const RELATIONS = ['Primary', 'Secondary']

const TEXT_FIELDS = [
  'titleEnglish',
  'titleMaori',
  'descriptionEnglish',
  'descriptionMaori',
  'kaupapaDescriptionEnglish',
  'kaupapaDescriptionMaori',
  'trainingDuration',
] as const

const LEVELS = [
  ['payLowerBound', 10],
  ['payMidLowerBound', 25],
  ['payMidUpperBound', 75],
  ['payUpperBound', 90],
] as const

/** One row for each value, as programs for analysis prefer it. */
const TABLES: readonly TableOfRecords[] = [
  {
    name: 'occupations',
    description: 'One row for each occupation.',
    primaryKey: ['occupationCode'],
    fields: [
      CODE,
      ...TEXT_FIELDS.map((name) => field(name, 'As in the record.')),
      field('lastUpdatedDate', 'When the record was last updated.', { type: 'datetime' }),
    ],
    *rows(record) {
      yield [record.occupationCode, ...TEXT_FIELDS.map((name) => record[name]), record.lastUpdatedDate]
    },
  },
  {
    name: 'names',
    description: 'One row for each title, plural and alternative title.',
    primaryKey: ['occupationCode', 'language', 'kind', 'position'],
    fields: [
      CODE,
      LANGUAGE,
      field('kind', 'What the name is.', { enum: ['title', 'plural', 'alternative'], required: true }),
      POSITION,
      field('name', 'The name.', { required: true }),
    ],
    *rows(record) {
      const lists = [
        ['en', 'title', [record.titleEnglish]],
        ['mi', 'title', [record.titleMaori]],
        ['en', 'plural', [record.titlePluralEnglish]],
        ['mi', 'plural', [record.titlePluralMaori]],
        ['en', 'alternative', record.altJobTitlesEnglish ?? []],
        ['mi', 'alternative', record.altJobTitlesMaori ?? []],
      ] as const
      for (const [language, kind, names] of lists)
        yield* listItems(names).map(([position, name]) => [
          record.occupationCode,
          language,
          kind,
          position,
          name,
        ])
    },
  },
  {
    name: 'tasks',
    description: 'One row for each task.',
    primaryKey: ['occupationCode', 'language', 'position'],
    fields: [CODE, LANGUAGE, POSITION, field('task', 'The task.', { required: true })],
    *rows(record) {
      const lists = [
        ['en', record.detailedWorkActivitiesEnglish ?? []],
        ['mi', record.detailedWorkActivitiesMaori ?? []],
      ] as const
      for (const [language, tasks] of lists)
        yield* listItems(tasks).map(([position, task]) => [record.occupationCode, language, position, task])
    },
  },
  {
    name: 'groups',
    description: 'One row for each major group of each minor group of an occupation.',
    primaryKey: ['occupationCode', 'position'],
    fields: [
      CODE,
      POSITION,
      field('minorGroupRelationType', 'How the minor group belongs to the occupation.', { enum: RELATIONS }),
      field('minorGroupCode', 'The code of the minor group.'),
      field('minorGroupNameEnglish', 'The name of the minor group.'),
      field('majorGroupRelationType', 'How the major group belongs to the minor group.', { enum: RELATIONS }),
      field('majorGroupCode', 'The code of the major group.'),
      field('majorGroupNameEnglish', 'The name of the major group.'),
    ],
    *rows({ occupationCode, minorGroups = [] }) {
      const pairs = minorGroups.flatMap(({ minorGroupRelationType, minorGroup = {} }) => {
        const minor = [minorGroupRelationType, minorGroup.code, minorGroup.nameEnglish]
        const majors = minorGroup.majorGroups ?? []
        if (majors.length === 0) return [[...minor, undefined, undefined, undefined]]
        return majors.map(({ majorGroupRelationType, majorGroup = {} }) => [
          ...minor,
          majorGroupRelationType,
          majorGroup.code,
          majorGroup.nameEnglish,
        ])
      })
      for (const [index, pair] of pairs.entries()) yield [occupationCode, index + 1, ...pair]
    },
  },
  {
    name: 'pay',
    description: 'One row for each percentile of annual pay.',
    primaryKey: ['occupationCode', 'percentile'],
    fields: [
      CODE,
      field('percentile', '10, 25, 75 or 90.', { type: 'integer', required: true }),
      field('amount', 'Annual pay.', {
        type: 'number',
        required: true,
      }),
    ],
    *rows({ occupationCode, renumeration = {} }) {
      for (const [name, percentile] of LEVELS) {
        const amount = renumeration[name]
        if (amount !== undefined) yield [occupationCode, percentile, amount]
      }
    },
  },
]

/** The items of a list that have a value, with their places. */
function listItems(items: readonly (string | undefined)[]): [number, string][] {
  return items.flatMap((item, index) => (item === undefined ? [] : [[index + 1, item]]))
}

/**
 * Writes long tables as CSV, and the Data Package that describes them, into a folder. The package is replaced last,
 * so that a folder with one is complete.
 *
 * @returns the number of records
 */
export async function exportTables(
  database: Database,
  folder: string,
  onProgress?: (records: number) => void,
): Promise<number> {
  try {
    makeFolder(folder)
  } catch (error) {
    throw new UserError(`--output: the folder cannot be created: ${(error as Error).message}`)
  }
  return await database.snapshot(async (reader) => {
    let count = 0
    for (const table of TABLES) {
      count = 0
      await replaceFile(join(folder, `${table.name}.csv`), async (append) => {
        await append(stringify([table.fields.map(({ name }) => name)]))
        for await (const documents of readDocuments(reader)) {
          const rows = documents.flatMap((document) => [
            ...table.rows(JSON.parse(document) as OccupationRecord),
          ])
          await append(stringify(rows))
          count += documents.length
          onProgress?.(count)
        }
      })
    }
    const text = `${JSON.stringify(describePackage(), null, 2)}\n`
    await replaceFile(join(folder, 'datapackage.json'), (append) => append(text))
    return count
  })
}

/** A Data Package (version 2) of the tables. */
function describePackage() {
  return {
    $schema: 'https://datapackage.org/profiles/2.0/datapackage.json',
    name: 'occupations',
    title: 'Occupation catalogue',
    resources: TABLES.map(({ name, description, fields, primaryKey }) => ({
      name,
      path: `${name}.csv`,
      description,
      schema: {
        fields: fields.map(({ required, enum: values, ...rest }) => {
          const constraints = { ...(required && { required }), ...(values && { enum: values }) }
          return { ...rest, ...(Object.keys(constraints).length > 0 && { constraints }) }
        }),
        primaryKey,
        ...(name !== 'occupations' && {
          foreignKeys: [
            {
              fields: ['occupationCode'],
              reference: { resource: 'occupations', fields: ['occupationCode'] },
            },
          ],
        }),
      },
    })),
  }
}
