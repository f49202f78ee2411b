// The child process that reads an upload or converts a file, which `file-process.ts` starts.
import { serveOrder } from '../../engines/checking/index.ts'
import { readUpload } from './read-upload.ts'

serveOrder(readUpload)
