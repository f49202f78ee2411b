import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadDefinition } from '../src/engines/checking/definition/load.ts'
import { check, checkInputs } from './support/checking.ts'
import { define } from './support/definition.ts'
import { writeFiles } from './support/temporary.ts'

/** A definition of one file of the given fields; `more` are properties of its resource. */
const defineThings = (fields: readonly object[], { schema = {}, ...more }: Record<string, unknown> = {}) =>
  define({ things: { fields, ...(schema as object), resource: more } })

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
    ['a text for no value', { nullSequence: 'NULL' }, 'id,name\nNULL,a\nNA,b\n', ['3 THI-01-type']],
  ])('%s', async (_name, dialect, text, expected) => {
    for (const chunk of [7, 1 << 16]) {
      const { findings } = await check(
        { 'things.csv': text },
        { definition: defineThings(fields, { dialect }), chunk },
      )
      expect(findings.map(({ line, errorCode }) => `${line} ${errorCode}`)).toEqual(expected)
    }
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
    [{ type: 'integer', example: 'x' }, /example: must be a whole number/],
    [{ type: 'number', decimalChar: ',', groupChar: ',' }, /groupChar: must differ from decimalChar/],
    [{ type: 'string', format: 'any' }, /its formats are email, uri, uuid, binary/],
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
    [{ licenses: [{ title: 'x' }] }, /licenses\[0\]: must have a name or a path/],
    [{ hash: 'crc32:00' }, /hash: must be a digest of md5, sha1, sha256, sha512/],
  ])('the resource %j is refused', (more, fault) => {
    expect(faultsOf(defineThings([{ name: 'value' }], more as Record<string, unknown>))).toMatch(fault)
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
    writeFileSync(path, JSON.stringify({ ...descriptor, dialect: {}, resourcess: [] }))
    expect(faultsOf(folder)).toMatch(/dialect: belongs in a resource[\s\S]*resourcess: is not a property/)
  })

  test('a package needs no name, version or mahi: property, and its names are free', async () => {
    const fields = [
      { name: 'ISO-3166 code', constraints: { required: true } },
      { name: 'row', type: 'integer' },
    ]
    const folder = writeFiles({
      'datapackage.json': JSON.stringify({
        resources: [
          { name: 'Country_Codes 2', path: 'codes.csv', schema: 'schema.json' },
          { name: 'readme', path: 'README.md' },
          { name: 'remote', path: 'https://example.org/x.csv', schema: { fields: [{ name: 'a' }] } },
        ],
      }),
      'schema.json': JSON.stringify({ fields: [...fields, { name: 'été' }] }),
      'codes.csv': 'ISO-3166 code,row,été\n,1,x\nNZ,two,x\n',
    })
    const definition = loadDefinition(folder)
    expect(definition.notes).toEqual([
      'The resource readme has no schema, so it is not checked.',
      'The resource remote is at https://example.org/x.csv, which is not downloaded, so it is not checked.',
    ])
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
