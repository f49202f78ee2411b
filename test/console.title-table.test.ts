import { expect, test } from 'vitest'
import { decode, proposeLayout, readTable } from '../src/console/title-table.ts'

test.each([
  ['the column of jobs, and not that of Mr and Ms', 'Title,Job title\nMs,Nurse\n', 1],
  ['a column that is named in other words', 'id,Main job\n1,Nurse\n', 1],
  ['a column with underscores', 'id;current_job_title\n1;Nurse\n', 1],
  ['a column with parentheses', 'id\tJob Title (main)\n1\tNurse\n', 1],
  ['no column of codes', 'occupationCode,occupation_name\nA1,Nurse\n', 1],
  ['a column with a name that is a question, above numbers', 'id,What do you do?\n1,Nurse\n', 1],
  ['a table of a program that names its separator', 'sep=;\nid;Role\n1;Nurse\n', 1],
  ['rows with a separator too many', 'id,Job title\n1,Nurse, ward\n2,Cook\n', 1],
  ['lines with commas in them', 'Nurse, ward\nCook, head\n', undefined],
  ['one column with a name', 'Main job\nNurse\n', undefined],
])('the titles of a text are found: %s', (_name, text, column) => {
  const layout = proposeLayout(text)
  expect(layout.column).toBe(column)
  expect(layout.hasHeader).toBe(!text.startsWith('Nurse'))
  expect(readTable(text, layout).titles[0]).toMatch(/^Nurse/)
})

test.each([
  ['a title on two lines', '"Nurse\nand manager"\nCook', ['Nurse and manager', 'Cook']],
  [
    'a title on two lines of a table',
    'id,Job title\r\n1,"Nurse\r\nand manager"\r\n2,Cook',
    ['Nurse and manager', 'Cook'],
  ],
  ['quotes within a title', 'Nurse "ward"\n"Cook" of a ship', ['Nurse "ward"', '"Cook" of a ship']],
  ['quotes that nothing closes', 'id,Job title\n1,"Nurse\n2,Cook', ['"Nurse', 'Cook']],
  ['blank lines', 'Nurse\r\n\r\nCook\r\n\r\n', ['Nurse', '', 'Cook']],
  ['blank titles', 'id,Job title\n1,\n2,Cook\n3,\n', ['', 'Cook', '']],
  ['lines that end with CR', 'Nurse\rCook', ['Nurse', 'Cook']],
  ['a first title that has the word job', 'Job coach\nCook', ['Job coach', 'Cook']],
  ['a line as wide as no table', `${','.repeat(300)}\nCook`, [','.repeat(300), 'Cook']],
])('no title of a text is lost or cut: %s', (_name, text, titles) => {
  expect(readTable(text, proposeLayout(text)).titles).toEqual(titles)
})

test('the rows of a table keep all their cells, and its columns their names', () => {
  const text = 'id,,Job title\n1,x,Nurse\n2,y,Cook,z\n'
  const { names, rows } = readTable(text, { column: 2, hasHeader: true })
  expect(names).toEqual(['id', 'Column 2', 'Job title', 'Column 4'])
  expect(rows).toEqual([
    ['1', 'x', 'Nurse'],
    ['2', 'y', 'Cook', 'z'],
  ])
  expect(readTable(text, { column: 0, hasHeader: false }).titles).toEqual(['id', '1', '2'])
})

test('a file is read in the encoding that its bytes show', () => {
  expect(decode(Buffer.from('Café manager'))).toBe('Café manager')
  expect(decode(Buffer.from('\ufeffCafé'))).toBe('Café')
  expect(decode(Buffer.from('Caf\xe9 manager', 'latin1'))).toBe('Café manager')
  expect(decode(Buffer.from('\ufeffCafé manager', 'utf16le'))).toBe('Café manager')
})

test.each([
  [`PK\x03\x04${'.'.repeat(26)}xl/workbook.xml`, 'an Excel workbook (XLSX)'],
  ['\xd0\xcf\x11\xe0\0', 'an Excel workbook in the old format (XLS), or one with a password'],
  ['%PDF-1.7', 'a PDF document'],
  ['\x89PNG\0\0\0\r', 'an image'],
])('a file that is no text is refused by what it is: %j', (start, name) => {
  expect(() => decode(Buffer.from(start, 'latin1'))).toThrow(
    `The file is ${name}. Save the table with the titles as CSV, and choose that file.`,
  )
})
