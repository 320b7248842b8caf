/** Skips tests whose tools are missing, with a reason; with `GRADUS_ORACLES=required` they fail. */
import { existsSync } from 'node:fs'

/** Returns false if all files exist, else the reason to skip a test. Takes pairs of a path and a reason. */
export function missing(...files) {
  const [, reason] = files.find(([path]) => !path || !existsSync(path)) ?? []
  if (reason && process.env.GRADUS_ORACLES === 'required') throw new Error(`GRADUS_ORACLES=required, but ${reason}`)
  return reason ?? false
}
