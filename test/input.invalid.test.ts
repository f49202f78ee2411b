import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { readRecords } from '../src/engines/records/index.ts'
import { InputRefused } from '../src/foundation/faults/faults.ts'
import { formatFault } from '../src/foundation/faults/user-error.ts'
import { PUBLISHED_COLUMNS, publishResults } from '../src/submissions/findings/publish.ts'
import { openTemporary } from './support/reused-schemas.ts'
import { readStored } from './support/stored-findings.ts'
import { temporaryFolder } from './support/temporary.ts'

/** Publishes a file: the entries of the run, or the first fault of the file. */
async function publish(name: string, content: string | Buffer): Promise<unknown> {
  const folder = temporaryFolder()
  writeFileSync(join(folder, name), content)
  const database = await openTemporary()
  const records = readRecords([join(folder, name)], { columns: PUBLISHED_COLUMNS })
  try {
    await publishResults(database, records, { eid: '1001', returnId: 'R1' })
    return [...(await readStored(database)).values()].flat().map((document) => JSON.parse(document))
  } catch (error) {
    if (!(error instanceof InputRefused) || error.faults[0] === undefined) throw error
    expect([...(await readStored(database)).values()]).toEqual([])
    return formatFault(error.faults[0]).slice(folder.length + 1)
  }
}

const utf16 = (text: string) => Buffer.from(text, 'utf16le')

test.each<[what: string, file: string, content: string | Buffer, fault: string]>([
  [
    'a PDF document',
    'a.csv',
    '%PDF-1.7',
    'a.csv: is a PDF document, not CSV. Export the table from the program that made it, as CSV or XLSX.',
  ],
  [
    'a program',
    'a.csv',
    `\x7fELF\x02\x01\x01${'\0'.repeat(57)}`,
    'a.csv: is a binary file, not CSV. Export the table from the program that made it, as CSV or XLSX.',
  ],
  [
    'a spreadsheet of another program, packed',
    'a.ods.gz',
    gzipSync(`PK\x03\x04${'.'.repeat(26)}mimetypeapplication/vnd.oasis.opendocument.spreadsheet`),
    'a.ods.gz: is a spreadsheet (ODS), not CSV. Save it as XLSX or CSV.',
  ],
  [
    'UTF-16 with a mark',
    'a.ndjson',
    utf16('\ufeff{"localId":"A"}\n'),
    'a.ndjson: The file is UTF-16. Save it as UTF-8',
  ],
  [
    'UTF-16 without one',
    'a.ndjson',
    utf16('{"localId":"A"}\n'),
    'a.ndjson: The file is UTF-16. Save it as UTF-8',
  ],
  [
    'UTF-16 of the other end',
    'a.csv',
    utf16('localId\nA\n').swap16(),
    'a.csv: The file is UTF-16. Save it as UTF-8',
  ],
  [
    'two byte order marks',
    'a.csv',
    '\ufeff\ufefflocalId\nA\n',
    'a.csv:1: names the unknown column "\\ufefflocalId" (did you mean "localId"?)',
  ],
  [
    'a surrogate in UTF-8',
    'a.ndjson',
    Buffer.from('{"localId":"\xed\xa0\xbd"}\n', 'latin1'),
    'a.ndjson:1: is not UTF-8. Save the file as UTF-8',
  ],
  [
    'half a surrogate pair',
    'a.ndjson',
    '{"localId":"\\ud83d"}\n',
    'a.ndjson:1: localId: has an unpaired surrogate, which is not valid Unicode',
  ],
  [
    'half a surrogate pair in a name',
    'a.ndjson',
    '{"\\ud83d":1}\n',
    'a.ndjson:1: has the unknown field "\\ud83d"',
  ],
  [
    'NUL in JSON',
    'a.ndjson',
    '{"localId":"A\\u0000"}\n',
    'a.ndjson:1: localId: has the control character U+0000',
  ],
  ['NUL in CSV', 'a.csv', 'localId\nA\0\n', 'a.csv:2: localId: has the control character U+0000'],
  [
    'carriage returns alone in CSV',
    'a.csv',
    'localId,courseCode\rA,B\r',
    'a.csv:1: Lines end with a bare carriage return. Use LF or CRLF',
  ],
  [
    'carriage returns alone in NDJSON',
    'a.ndjson',
    '{"localId":"A"}\r{"localId":"B"}\r',
    'a.ndjson:1: Lines end with a bare carriage return. Use LF or CRLF',
  ],
  [
    '__proto__ in a record',
    'a.ndjson',
    '{"localId":"A","__proto__":{"polluted":1}}\n',
    'a.ndjson:1: has the unknown field "__proto__"',
  ],
  [
    'nesting a hundred thousand deep',
    'a.ndjson',
    `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}\n`,
    'a.ndjson:1: has the unknown field "a"',
  ],
  [
    'something after a gzip',
    'a.ndjson.gz',
    Buffer.concat([gzipSync('{"localId":"A"}\n'), Buffer.from('x')]),
    'a.ndjson.gz: The gzip file is damaged or truncated',
  ],
  [
    'something after a gzip and zeros',
    'a.ndjson.gz',
    Buffer.concat([gzipSync('{"localId":"A"}\n'), Buffer.alloc(9), gzipSync('{"localId":"B"}\n')]),
    'a.ndjson.gz: Data follows the end of the gzip stream',
  ],
  [
    'a gzip in a gzip',
    'a.ndjson.gz',
    gzipSync(gzipSync('{"localId":"A"}\n')),
    'a.ndjson.gz:1: is not UTF-8. Save the file as UTF-8',
  ],
])('%s is refused with its place, and nothing is stored', async (_, file, content, fault) => {
  expect(await publish(file, content)).toBe(fault)
})

const entry = '{"localId":"A"}\n'
test.each<[what: string, file: string, content: string | Buffer, entries: object[]]>([
  [
    'zeros after a gzip',
    'a.ndjson.gz',
    Buffer.concat([gzipSync(entry), Buffer.alloc(512)]),
    [{ localId: 'A' }],
  ],
  [
    'many members',
    'a.ndjson.gz',
    Buffer.concat(Array.from({ length: 100 }, () => gzipSync(entry))),
    Array.from({ length: 100 }, () => ({ localId: 'A' })),
  ],
  // The last one counts, as in every JavaScript.
  ['a name twice', 'a.ndjson', '{"localId":"A","localId":"B"}\n', [{ localId: 'B' }]],
  [
    'values that are names of every object',
    'a.ndjson',
    '{"localId":"__proto__","errorCode":"constructor"}\n',
    [{ localId: '__proto__', errorCode: 'constructor' }],
  ],
])('%s: unusual, but read', async (_, file, content, entries) => {
  expect(await publish(file, content)).toEqual(entries)
})
