/** All entries, in the order of the list. */
import type { Entry } from '../lib/entry.js'
import addition from './addition.js'
import automaton from './automaton.js'
import datalog from './datalog.js'
import digits from './digits.js'
import flow from './flow.js'
import gradients from './gradients.js'
import names from './names.js'
import nerf from './nerf.js'
import sine from './sine.js'
import tictactoe from './tictactoe.js'

export const entries: Entry[] = [sine, digits, names, addition, nerf, flow, automaton, tictactoe, datalog, gradients]
