import { choice, count, object, text } from '../../api/contract/fields.ts'
import { SEVERITIES } from '../../engines/checking/index.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'

const CAUSE_KINDS = ['file', 'column', 'value', 'reference', 'record', 'rule'] as const

/** What to fix, with the findings that disappear when it is fixed. */
export const Cause = Type.Object(
  {
    key: Type.String({ description: 'The same for the same cause in another run.' }),
    kind: choice(CAUSE_KINDS, 'What the cause is about.'),
    severity: choice(SEVERITIES, 'Error if one of its findings is an error.'),
    file: text('Name of the file to fix.'),
    field: text('The field to fix.'),
    value: text('The value to fix.'),
    codes: Type.Array(Type.String(), { description: 'The codes of its findings.' }),
    findings: count('Its findings; every finding belongs to one cause.'),
    records: count('Records among its stored findings.'),
    learners: count('Different students among its stored findings.'),
    sentence: text('What is wrong.'),
    fix: text('What to do.'),
    example: object(
      {
        file: text('Name of the file.'),
        line: count('Line on which the record starts, from 1.'),
        field: text('The field.'),
        value: text('Its value.'),
        description: text('Description of the finding.'),
      },
      'The first of its findings.',
    ),
  },
  { title: 'Cause', description: 'What to fix, with the findings that disappear when it is fixed.' },
)
export type Cause = Static<typeof Cause>
