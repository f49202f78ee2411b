import { oneOf } from '../../api/contract/fields.ts'
import { FILE_TYPES, SEVERITIES } from '../../engines/checking/index.ts'
import { type Static, Type } from '../../foundation/schema/type.ts'

/** A text that is absent rather than empty. */
export const filledText = (description: string) => Type.Optional(Type.String({ description, minLength: 1 }))

/** Section 2.9 of the interface. The order of the fields here is their order in every document. */
export const ValidationEntry = Type.Object(
  {
    localId: filledText('Identifier of the record concerned.'),
    errorCode: filledText('Code of the validation finding.'),
    errorDescription: filledText('Description of the finding.'),
    errorType: oneOf(SEVERITIES, 'How severe the finding is.'),
    fileType: oneOf(FILE_TYPES, 'The submitted file that holds the record.'),
    courseCode: filledText('Course code of the record.'),
    studentId: filledText('Student identifier of the record.'),
    recordText: filledText('Text of the record concerned.'),
  },
  { title: 'ValidationEntry', description: 'One error or warning about one record of a submitted file.' },
)
export type ValidationEntry = Static<typeof ValidationEntry>
