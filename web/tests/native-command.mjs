/** Runs the `gradus` command, for tests that compare the browser package with a native run. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from './browser.mjs'
import { missing } from './missing.mjs'

/** The command: `GRADUS`, or the one that cargo has built. */
const command = [process.env.GRADUS, join(root, '../target/release/gradus'), join(root, '../target/debug/gradus')].find((f) => f && existsSync(f))

/** The reason why tests cannot run the command; false if they can. */
export const skipNative = missing([command, 'there is no gradus command; GRADUS may name it'])

/** Writes numbers with a decimal point, so that they are floats in JSON. */
const text = (v) => (Array.isArray(v) ? `[${v.map(text)}]` : Number.isInteger(v) ? `${v}.0` : `${v}`)

/** Calls `use(folder, run)` in a folder that contains `files`, the text of each or its array; `run(...arguments)` runs the command there. The folder is removed. */
export function inFolder(files, use) {
  const folder = mkdtempSync(join(tmpdir(), 'gradus-native-'))
  try {
    for (const [name, value] of Object.entries(files)) writeFileSync(join(folder, name), typeof value === 'string' ? value : text(value))
    return use(folder, (...given) => execFileSync(command, given, { cwd: folder, stdio: 'pipe', encoding: 'utf8' }))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The devices to compare with. WebGPU is left out where the command finds no adapter, unless `GRADUS_ORACLES=required`. */
export const devices = ['cpu']
if (!skipNative && (process.env.GRADUS_ORACLES === 'required' || execFileSync(command, ['devices'], { stdio: 'pipe', encoding: 'utf8' }).includes('wgpu'))) devices.push('wgpu')
