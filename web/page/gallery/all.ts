/** All entries, in the order of the list. */
import type { Entry } from '../lib/entry.js'
import sine from './sine.js'

export const entries: Entry[] = [sine]
