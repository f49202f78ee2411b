// The child process that marks or corrects files, which `return-files.ts` starts.
import { serveOrder } from '../process/serve-order.ts'
import { writeCopies } from './write-copies.ts'

serveOrder(writeCopies)
