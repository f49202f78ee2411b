import { type Static, Type } from '../foundation/schema/type.ts'
import type { Receipt } from './explanations/receipt-schema.ts'
import { Submission } from './schema.ts'

/** A submission that was just submitted, with its receipt. */
export const SubmittedSubmission = Type.Object(
  {
    ...Submission.properties,
    receipt: Type.Optional(Type.Unsafe<Static<typeof Receipt>>(Type.Ref('Receipt#'))),
  },
  { description: 'A submitted submission and its receipt.' },
)
