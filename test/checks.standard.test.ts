import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadDefinition } from '../src/engines/checking/definition/load.ts'
import { growsExponentially } from '../src/engines/checking/definition/pattern-growth.ts'
import { check, checkInputs } from './support/checking.ts'
import { define } from './support/definition.ts'
import { writeFiles } from './support/temporary.ts'

/** A definition of one file of the given fields; `more` are properties of its resource. */
const defineThings = (fields: readonly object[], { schema = {}, ...more }: Record<string, unknown> = {}) =>
  define({ things: { fields, ...(schema as object), resource: more } })

/** A dialect that is rewritten before it is read. */
const SPACED = { skipInitialSpace: true }

describe('dialects', () => {
  const fields = [{ name: 'id', type: 'integer' }, { name: 'name' }]
  test.each<[string, object, string, readonly string[]]>([
    ['a separator', { delimiter: '|' }, 'id|name\n1|a\nx|b\n', ['3 THI-01-type']],
    ['another separator than stated', { delimiter: ';' }, 'id,name\n1,a\n', ['1 THI-00-file']],
    ['no header', { header: false }, '1,a\nx,b\n', ['2 THI-01-type']],
    ['a header further down', { headerRows: [3] }, 'Report\n\nid,name\nx,a\n', ['4 THI-01-type']],
    ['comments', { commentChar: '#', commentRows: [2] }, 'id,name\nnote\n# more\nx,a\n', ['4 THI-01-type']],
    ['another end of lines', { lineTerminator: ';' }, 'id,name;1,a;x,b', ['3 THI-01-type']],
    ['another quote', { quoteChar: "'" }, "id,name\n1,'a,\"b''c'\nx,b\n", ['3 THI-01-type']],
    [
      'escapes',
      { escapeChar: '\\', doubleQuote: false },
      'id,name\n1,"a \\" , b"\n2,a\\,b\nx,c\n',
      ['4 THI-01-type'],
    ],
    ['spaces after separators', { skipInitialSpace: true }, 'id, name\n1, "a,b"\nx, c\n', ['3 THI-01-type']],
    ['LF for CRLF', { lineTerminator: '\r\n' }, 'id,name\n1,a\nx,b\n', ['3 THI-01-type']],
    ['CR for LF', { lineTerminator: '\n' }, 'id,name\r1,a\rx,b\r', ['3 THI-01-type']],
    ['CRLF for CR', { lineTerminator: '\r' }, 'id,name\r\n1,a\r\nx,b\r\n', ['3 THI-01-type']],
    ['LF for its own', { lineTerminator: ';' }, 'id,name\n1,a\nx,b\n', ['3 THI-01-type']],
    [
      'LF for CRLF in a dialect',
      { lineTerminator: '\r\n', ...SPACED },
      'id, name\n1, a\nx, b\n',
      ['3 THI-01-type'],
    ],
    [
      'CR for LF in a dialect',
      { lineTerminator: '\n', ...SPACED },
      'id, name\r1, a\rx, b\r',
      ['3 THI-01-type'],
    ],
    [
      'CR with LF in values',
      { lineTerminator: '\r', ...SPACED },
      'id, name\r1, "a\nb"\rx, b\r',
      ['4 THI-01-type'],
    ],
    ['quotes that are text', { quoteChar: '' }, 'id,name\n1,"a\nx,b"\n', ['3 THI-01-type']],
    ['no quotes', { quoteChar: null, delimiter: '\t' }, 'id\tname\n1\ta "b\nx\t"\n', ['3 THI-01-type']],
    ['a text for no value', { nullSequence: 'NULL' }, 'id,name\nNULL,a\nNA,b\n', ['3 THI-01-type']],
  ])('%s', async (_name, dialect, text, expected) => {
    const { findings } = await check(
      { 'things.csv': text },
      { definition: defineThings(fields, { dialect }) },
    )
    expect(findings.map(({ line, errorCode }) => `${line} ${errorCode}`)).toEqual(expected)
  })

  test('a header of several lines is joined', async () => {
    const named = [{ name: 'fruit id', type: 'integer' }, { name: 'fruit name' }]
    const definition = defineThings(named, { dialect: { headerRows: [1, 2] } })
    const { findings } = await check({ 'things.csv': 'fruit\nid,name\nx,apple\n' }, { definition })
    expect(findings.map(({ line, field }) => `${line} ${field}`)).toEqual(['3 fruit id'])
  })
})

describe('files', () => {
  const fields = [{ name: 'id', type: 'integer' }, { name: 'name' }]
  const text = 'id,name\n1,a\n'
  const codesOf = async (more: Record<string, unknown>, content = text) => {
    const { findings } = await check({ 'things.csv': content }, { definition: defineThings(fields, more) })
    return findings.map(({ errorCode, errorDescription }) => `${errorCode}: ${errorDescription}`)
  }

  test('bytes and digests are compared', async () => {
    expect(
      await codesOf({
        bytes: 12,
        hash: 'sha256:85f67f8c3b28a2e0c96a26dcb20a4eae04a4d4a2e3a5d3c7d7dbcb2b0d4b5fd1',
      }),
    ).toEqual([expect.stringMatching(/^THI-00-file: The sha256 digest of the file is [0-9a-f]{64}, but/)])
    expect(await codesOf({ bytes: 13, hash: '1b6a6bb9a5e6fe0ac9e2a0f4d5d3a1f0' })).toEqual([
      expect.stringMatching(/^THI-00-file: The file has 12 bytes, but the definition says that it has 13/),
      expect.stringMatching(/^THI-00-file: The md5 digest/),
    ])
  })

  test('columns may be in any order unless the schema says exact', async () => {
    const reordered = 'name,id\na,1\n'
    expect(await codesOf({}, reordered)).toEqual([])
    expect(await codesOf({ schema: { fieldsMatch: 'exact' } }, reordered)).toEqual([
      'THI-00-header: The columns must be in the order id, name.',
    ])
  })
})

/** A package as it is published: things.csv has a wrong value in line 3. */
interface Published {
  readonly descriptor: { readonly resources: object[] }
  readonly resource: object
  readonly schema: object
  readonly field: { readonly constraints: object }
}

const THINGS = 'value\n1\nx\n'
const MD5 = createHash('md5').update(THINGS).digest('hex')

/** What only describes, in every object of a descriptor. */
const DESCRIBING = [
  'url title description homepage image version keywords contributors sources source license licenses author',
  'authors publisher language example examples rdfType unit units label currency compression mediatype profile',
  'id created categoriesOrdered',
].flatMap((names) => names.split(' '))
/** The same where the names of properties are free. */
const DESCRIBING_FREELY = [...DESCRIBING, 'path', 'name', 'licence', 'updated', 'notes']

function publish(change: (published: Published) => void) {
  const field = { name: 'value', type: 'integer', constraints: {} }
  const schema = { fields: [field] }
  const resource = { name: 'things', path: 'things.csv', schema }
  const descriptor = { resources: [resource] as object[] }
  change({ descriptor, resource, schema, field })
  const folder = writeFiles({ 'datapackage.json': JSON.stringify(descriptor), 'things.csv': THINGS })
  return { folder, path: join(folder, 'things.csv') }
}

async function checkPublished(change: (published: Published) => void): Promise<string[]> {
  const { folder, path } = publish(change)
  const files = [{ resource: 'things', name: 'things.csv', path }]
  const { findings } = await checkInputs(files, { definition: loadDefinition(folder) })
  return findings.map(({ errorCode, line }) => `${errorCode} ${line}`)
}

describe('descriptors', () => {
  const faultsOf = (folder: string): string => {
    try {
      loadDefinition(folder)
    } catch (error) {
      return (error as Error).message
    }
    return ''
  }

  test.each<[object, RegExp]>([
    [{ typ: 'integer' }, /fields\[0\]\.typ: is not a property of the standard \(did you mean "type"\?\)/],
    [{ required: true }, /required: belongs in constraints/],
    [{ constraints: { enum: [] } }, /enum: must not be empty/],
    [{ type: 'integer', constraints: { enum: ['a'] } }, /enum\[0\]: must be a whole number/],
    [
      { type: 'integer', constraints: { pattern: '1' } },
      /pattern: does not apply to a field of type integer/,
    ],
    [{ constraints: { pattern: '(a+)+' } }, /constraints\.pattern: is a pattern whose time can double/],
    [{ type: 'list', 'mahi:items': { pattern: '(a+)+' } }, /items.*\.pattern: is a pattern whose time can/],
    [{ constraints: { minLength: 3, maxLength: 2 } }, /minLength: is more than maxLength/],
    [{ type: 'integer', constraints: { minimum: 3, exclusiveMaximum: 3 } }, /constraints: permits no value/],
    [{ constraints: { jsonSchema: {} } }, /jsonSchema: is not supported/],
    [
      { type: 'boolean', trueValues: ['x'], falseValues: ['x'] },
      /has "x" both in trueValues and in falseValues/,
    ],
    [{ categories: [{ label: 'x' }] }, /categories\[0\]\.value: is missing/],
    [{ categories: ['a'], constraints: { enum: ['b'] } }, /enum: must only have values of categories/],
    [{ type: 'date', format: 'YYYY' }, /format: must be default, any or a format such as %d\/%m\/%Y/],
    [{ type: 'date', format: '%d/%m' }, /has none of %Y and %y/],
    [{ type: 'number', decimalChar: ',', groupChar: ',' }, /groupChar: must differ from decimalChar/],
    [{ type: 'geopoint', format: 'text' }, /format: must be default, array or object, not "text"/],
  ])('the field %j is refused', (field, fault) => {
    expect(faultsOf(defineThings([{ name: 'value', ...field }]))).toMatch(fault)
  })

  test.each<[object, RegExp]>([
    [{ missingValues: ['NA'] }, /resources\[0\]\.missingValues: belongs in schema/],
    [{ schema: { primarykey: 'value' } }, /primarykey: is not a property .*"primaryKey"/],
    [{ schema: { uniqueKeys: ['value'] } }, /uniqueKeys\[0\]: must be a list of fields/],
    [{ dialect: 'dialect.json' }, /dialect: is in dialect\.json, which does not exist/],
    [{ dialect: { delimeter: ';' } }, /delimeter: is not a property .*"delimiter"/],
    [{ path: '../things.csv' }, /path: must be a path within the folder/],
    [{ path: ['things.csv', 'more.csv'] }, /no table that can be checked.* has several files/],
    [{ extrapaths: ['more.csv'] }, /no table that can be checked.* has several files/],
    [{ path: './things.csv' }, /path: must be a path within the folder .* no \/, ~ or \. at its start/],
    [{ hash: 'crc32:00' }, /hash: must be a digest of md5, sha1, sha256, sha512/],
  ])('the resource %j is refused', (more, fault) => {
    expect(faultsOf(defineThings([{ name: 'value' }], more as Record<string, unknown>))).toMatch(fault)
  })

  test.each([
    ...['(a+)+', '(a*)*b', '(a|aa)+', '(a|[a-c])*', '(a?b?)*', '[A-Z]{3}(\\d+-?)+', '(\\w+\\s?)*', '(.*,)*'],
    ...['(\\d{1,3},?)+', '(a{1,30}){1,30}', '(a{2,3})+', '((a|b)*c?)*', '(?=x)(?<name>a+)+', '([^,]+,?)+'],
    ...[
      '([\\w\\-\\[\\]]+ ?)*',
      '^(a+)+$',
      '(^|,)(,?[a-z]+)+',
      '(é|[à-ü])+',
      '([a-z-[aeiou]]|b)+',
      '(\\u0061|a)+',
    ],
  ])('the time of the pattern %s doubles with each character', (pattern) => {
    expect(growsExponentially(pattern)).toBe(true)
  })

  test.each([
    ...['', 'a|b|', '(ab)*', '(a?b)*', '(a{2})+', '(a{1,3}b)+', '(a|b)+', '([a-z]{2}){300}', 'a*a*a*b'],
    ...[
      '[A-Z]+(-[A-Z]+)*',
      '([A-Z]{2}[0-9]{3};)*',
      '(\\p{L}+ )*\\p{L}+',
      '[^,]+(,[^,]+)*',
      '(\\(\\d+\\) ?)+',
    ],
    ...['\\w+\\s*\\w+', '.*foo.*', '([a-z-[aeiou]]|a)+', '(\\^a+\\$)+', '[a-z0-9.]+@[a-z0-9.]+\\.[a-z]{2,}'],
    // Where every text matches, no other way is tried.
    ...['(.|\\s)*', '([ab][^a]*)*', '^(.|\\s)*$'],
    // It begins once.
    ...['((^|,)(^[A-Z]{2}[A-Z0-9]{4,33}$|none))+$'],
  ])('the time of the pattern %s does not', (pattern) => {
    expect(growsExponentially(pattern)).toBe(false)
  })

  const values = [5, true, null, '', 'since 2025', {}, { en: 'x' }, [], ['x'], [{ title: { en: 'x' } }]]
  test.each(values.map((value) => [value]))(
    'no property that only describes is a refusal, wherever it is: %j',
    async (value) => {
      const all = Object.fromEntries(DESCRIBING_FREELY.map((name) => [name, value]))
      const strict = Object.fromEntries(DESCRIBING.map((name) => [name, value]))
      const found = await checkPublished(({ descriptor, resource, schema, field }) => {
        const reference = { ...all, resource: 'things', fields: 'value' }
        Object.assign(schema, { ...all, ...schema, foreignKeys: [{ ...all, fields: 'value', reference }] })
        Object.assign(field.constraints, strict)
        Object.assign(field, { ...all, ...field, categories: [{ ...all, value: 1 }] })
        Object.assign(resource, { ...all, ...resource, dialect: { ...strict, path: value, name: value } })
        Object.assign(descriptor, { ...all, ...descriptor })
        // These three are refused, see below.
        if (typeof value === 'string') Object.assign(field, { example: '5' })
        if (Array.isArray(value)) Object.assign(descriptor, { licenses: ['x'] })
      })
      expect(found).toEqual(['things-01-type 3'])
    },
  )

  test('what other implementations refuse is refused, although it only describes', () => {
    const { folder } = publish(({ descriptor, field }) => {
      Object.assign(descriptor, { created: 'yesterday', licenses: [{ title: 'x' }] })
      Object.assign(field, { example: 'x' })
    })
    expect(faultsOf(folder).replaceAll(/.*datapackage\.json: /g, '')).toBe(
      [
        'created: must be a date and time such as 2025-02-17T09:30:00Z',
        'licenses[0]: must have a name or a path',
        'resources[0].schema.fields[0].example: must be a whole number such as 2025, not "x"',
      ].join('\n'),
    )
  })

  test.each<[string, object, string?]>([
    ['other bytes than it has counted', { stats: { bytes: 13 } }, 'things-00-file 1'],
    [
      'a scheme',
      { scheme: 'file', hashing: 'md5', format: 'csv', mediatype: 'text/csv', rows: 2, fields: 1 },
    ],
    ['a mark in the encoding', { encoding: 'utf-8-sig' }],
    ['an encoding of Python', { encoding: 'utf_8' }],
    ['a dialect of CSV', { dialect: { csv: { delimiter: ';', quoteChar: '"' }, headerRows: [1] } }],
    ['a layout', { layout: { header: true }, control: {}, checklist: { checks: [] } }],
    ['statistics', { stats: { bytes: 10, fields: 1, rows: 2, hash: MD5 }, hashing: 'md5' }],
    ['digests', { stats: { bytes: 10, md5: MD5 } }],
  ])('what Frictionless writes is read: %s', async (_, more, also) => {
    const found = await checkPublished(({ resource }) => Object.assign(resource, more))
    expect(found).toEqual([...(also ? [also] : []), 'things-01-type 3'])
  })

  test('what says how other programs check and read is named as not used', () => {
    const { folder } = publish(({ schema, resource }) => {
      Object.assign(schema, { custom_checks: [{ name: 'french-siret-value', params: {} }, 'x'] })
      const dialect = { sheetName: 'x', sheetNumber: 2 }
      Object.assign(resource, { checklist: {}, jsonSchema: {}, extrapaths: [], dialect })
    })
    expect(loadDefinition(folder).notes).toEqual([
      'datapackage.json: resources[0].checklist: is not run.',
      'datapackage.json: resources[0].jsonSchema: is not checked.',
      'datapackage.json: resources[0].schema.custom_checks: has checks of another program, which are not run: french-siret-value, one without a name.',
      ...['sheetName', 'sheetNumber'].map(
        (name) =>
          `datapackage.json: resources[0].dialect.${name}: is not used: a sheet is recognised by its name or its columns.`,
      ),
    ])
  })

  test('a schema at a URL is read from the file of its name, and a missing one is named', async () => {
    const at = (url: string) => (published: Published) => Object.assign(published.resource, { schema: url })
    const { folder } = publish(at('https://rs.example/1.0/things-schema.json?raw=1'))
    expect(faultsOf(folder)).toContain(
      'schema: is at https://rs.example/1.0/things-schema.json?raw=1, which is not downloaded: save it as things-schema.json beside datapackage.json',
    )
    writeFileSync(join(folder, 'things-schema.json'), JSON.stringify({ fields: [{ name: 'value' }] }))
    expect(loadDefinition(folder).notes).toEqual([expect.stringContaining('things-schema.json was read.')])
    expect(faultsOf(publish(at('https://rs.example/../..')).folder)).toContain('save it as ')
  })

  test('a foreign key to a resource that cannot be checked is a note', () => {
    const { folder } = publish(({ descriptor, schema }) => {
      descriptor.resources.push({ name: 'remote', path: 'https://example.org/x.csv', schema: { fields: [] } })
      Object.assign(schema, {
        foreignKeys: [{ fields: 'value', reference: { resource: 'remote', fields: 'id' } }],
      })
    })
    expect(loadDefinition(folder).notes).toContain(
      'datapackage.json: resources[0].schema.foreignKeys[0]: is not checked: remote is not.',
    )
  })

  test('what describes a published package only is a note, and what would change the check a fault', () => {
    const folder = defineThings([{ name: 'value' }], { licence: 'x' })
    const path = join(folder, 'datapackage.json')
    const descriptor = JSON.parse(readFileSync(path, 'utf8')) as object
    writeFileSync(path, JSON.stringify({ ...descriptor, format: 'csv', descriptions: 'x', related: [] }))
    expect(loadDefinition(folder).notes).toEqual([
      'datapackage.json: format: belongs in a resource, and has no meaning here.',
      'datapackage.json: descriptions: is not a property of the standard (did you mean "description"?).',
      'datapackage.json: resources[0].licence: is not a property of the standard (did you mean "licenses"?).',
    ])
    writeFileSync(path, JSON.stringify({ ...descriptor, missingValues: [], resourcess: [] }))
    expect(faultsOf(folder)).toMatch(/missingValues: belongs in schema[\s\S]*resourcess: is not a property/)
  })

  test('a format that a type does not have is a note', async () => {
    const fields = ['string', 'integer', 'boolean'].map((type) => ({ name: type, type, format: '%Y-%m-%d' }))
    const { notes } = loadDefinition(defineThings(fields))
    expect(notes).toEqual(
      fields.map(
        ({ type }, at) =>
          `datapackage.json: resources[0].schema.fields[${at}].format: "%Y-%m-%d" is no format of the type ${type}, and is ignored.`,
      ),
    )
  })

  test('what has a meaning elsewhere only is a note', async () => {
    const found = await checkPublished(({ descriptor, resource, schema, field }) => {
      Object.assign(descriptor, {
        licenses: [{ id: 'odc-pddl' }, { type: 'odc-pddl' }, { url: 'https://x.example' }],
      })
      Object.assign(resource, { foreignKeys: [], dialect: { decimalChar: ',' } })
      Object.assign(schema, { delimiter: ',' })
      Object.assign(field, { pattern: '[a-z]' })
    })
    expect(found).toEqual(['things-01-type 3'])
  })

  test('fields without a name are not said to repeat it', () => {
    expect(faultsOf(defineThings([{ title: 'x' }, { title: 'y' }]))).not.toContain('twice')
  })

  test('a package needs no name, version or mahi: property, and its names are free', async () => {
    const fields = [
      { name: 'ISO-3166 code', constraints: { required: true } },
      { name: 'row', type: 'integer' },
    ]
    const folder = writeFiles({
      'datapackage.json': JSON.stringify({
        resources: [
          { name: 'Country_Codes 2', title: '', path: 'codes.csv', schema: 'schema.json' },
          { name: 'readme', path: 'README.md' },
          { name: 'remote', path: 'https://example.org/x.csv', schema: { fields: [{ name: 'a' }] } },
          { name: 'parts', path: ['one.csv', 'two.csv'], schema: { fields: [{ name: 'a' }] } },
        ],
      }),
      'schema.json': JSON.stringify({ fields: [...fields, { name: 'été' }] }),
      'codes.csv': 'ISO-3166 code,row,été\n,1,x\nNZ,two,x\n',
    })
    const definition = loadDefinition(folder)
    expect(definition.notes).toEqual([
      'The resource readme has no schema, so it is not checked.',
      'The resource remote is at https://example.org/x.csv, which is not downloaded, so it is not checked.',
      'The resource parts has several files, so it is not checked. Join them to one file.',
    ])
    expect(definition.resources.map(({ title }) => title)).toEqual(['Country_Codes 2'])
    const files = [{ resource: 'Country_Codes 2', name: 'codes.csv', path: join(folder, 'codes.csv') }]
    const { findings } = await checkInputs(files, { definition })
    expect(findings.map(({ errorCode, line }) => `${errorCode} ${line}`)).toEqual([
      'Country-Codes-2-01-required 2',
      'Country-Codes-2-02-type 3',
    ])
  })
})

describe('the ends of files', () => {
  test.each(['id,v\n1,x\r', 'id,v\r\n1,x\r', 'id,v\n1,"x"\r'])(
    'a lone CR at the end of %j belongs to no value',
    async (text) => {
      const definition = defineThings([{ name: 'id' }, { name: 'v', type: 'integer' }])
      const { findings } = await check({ 'things.csv': text }, { definition })
      expect(findings.map(({ value, recordText }) => [value, recordText?.endsWith('\r')])).toEqual([
        ['x', false],
      ])
    },
  )

  test('an empty row of a file with one column is an empty value', async () => {
    const definition = defineThings([{ name: 'id', constraints: { required: true } }])
    const { findings } = await check({ 'things.csv': 'id\n1\n\n2\n' }, { definition })
    expect(findings.map(({ line, errorCode }) => `${line} ${errorCode}`)).toEqual(['3 THI-01-required'])
    const two = defineThings([{ name: 'id', constraints: { required: true } }, { name: 'v' }])
    expect((await check({ 'things.csv': 'id,v\n1,\n\n2,\n' }, { definition: two })).findings).toEqual([])
  })
})
