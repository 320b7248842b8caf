/** Tic-tac-toe by self-play: a network learns values of positions, and plays against the visitor. */
import { losses, nn, optim, type Tensor } from 'gradus'
import source from 'source:tictactoe.ts'
import { button, el } from '../lib/dom.js'
import { training, type Stage } from '../lib/entry.js'
import { Random } from '../lib/random.js'

/** Nine cells: 1 is the player whose position is valued, -1 the opponent, 0 a free cell. */
type Board = number[]

class Worth extends nn.Module {
  l1 = new nn.Linear(18, 96)
  l2 = new nn.Linear(96, 64)
  l3 = new nn.Linear(64, 1)
  /** The value for the player who has just moved, from -1 (lost) to 1 (won). */
  forward(x: Tensor): Tensor {
    return this.l3.forward(this.l2.forward(this.l1.forward(x).relu()).relu()).tanh()
  }
}

const LINES = [[0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 3, 6], [1, 4, 7], [2, 5, 8], [0, 4, 8], [2, 4, 6]]
const hasWon = (b: Board, who: number): boolean => LINES.some((l) => l.every((i) => b[i] === who))
const isFull = (b: Board): boolean => b.every((c) => c !== 0)
const free = (b: Board): number[] => b.flatMap((c, i) => (c === 0 ? [i] : []))
const encode = (b: Board): number[] => [...b.map((c) => Number(c === 1)), ...b.map((c) => Number(c === -1))]
/** The board after a move of 1. */
const move = (b: Board, i: number): Board => b.map((c, k) => (k === i ? 1 : c))
/** The board with the players exchanged. */
const turned = (b: Board): Board => b.map((c) => (c === 0 ? 0 : -c))

const BATCH = 128
const GAMES = 24
const REPLAY = 3000
const WIDE = 256

/** Positions after a move, with their target values. */
let replay: { board: Board, worth: number }[] = []
const random = new Random(3)

/** Computes the values of positions, in runs of at most 256. */
async function judge(stage: Stage, boards: Board[]): Promise<number[]> {
  const f = await stage.forward('judge', { forward: (m: Worth, { x }) => m.forward(x), inputs: { x: [WIDE, 18] } })
  const out: number[] = []
  for (let from = 0; from < boards.length; from += WIDE) {
    const part = boards.slice(from, from + WIDE)
    const x = new Float32Array(WIDE * 18)
    part.forEach((b, i) => x.set(encode(b), 18 * i))
    const r = await f.run({ x })
    if (r.type !== 'completed') throw r.type === 'failed' ? r.error : new Error('stopped')
    out.push(...Array.from(r.output.slice(0, part.length), Number))
  }
  return out
}

/** For each board with player 1 to move: the moves, and the boards after them with their values. */
async function options(stage: Stage, boards: Board[]) {
  const all = boards.map((b) => free(b).map((i) => ({ i, board: move(b, i) })))
  const worth = await judge(stage, all.flat().map((o) => o.board))
  let at = 0
  return all.map((list) => list.map((o) => {
    const guess = worth[at++]!
    return { ...o, worth: hasWon(o.board, 1) ? 1 : isFull(o.board) ? 0 : guess }
  }))
}

/** Plays games against itself. The value of a position is minus the best value that the opponent can reach from it. */
async function selfPlay(stage: Stage): Promise<void> {
  let games: { board: Board, before: Board | null }[] = Array.from({ length: GAMES }, () => ({ board: new Array<number>(9).fill(0), before: null }))
  while (games.length) {
    const choices = await options(stage, games.map((g) => g.board))
    const next: typeof games = []
    games.forEach(({ before }, k) => {
      const list = choices[k]!
      const best = list.reduce((a, b) => (b.worth > a.worth ? b : a))
      if (before) replay.push({ board: before, worth: -best.worth })
      const taken = random.next() < 0.4 ? list[random.int(list.length)]! : best
      const ends = hasWon(taken.board, 1) || isFull(taken.board)
      if (ends) replay.push({ board: taken.board, worth: taken.worth })
      else next.push({ board: turned(taken.board), before: taken.board })
    })
    games = next
  }
  if (replay.length > REPLAY) replay = replay.slice(-REPLAY)
}

export default training({
  id: 'tictactoe',
  title: 'Tic-tac-toe by self-play',
  line: 'Learns the worth of positions from its own games; play against it.',
  text: 'The network plays against itself and learns that a position is worth the opposite of the best that the other side can make of it. No rule of good play is given.',
  source,
  target: 0.05,
  measure: 'mean squared error',
  rate: 0.003,
  spec: () => ({
    model: new Worth(),
    loss: (m, { x, worth }) => losses.mse(m.forward(x), worth),
    inputs: { x: [BATCH, 18], worth: [BATCH, 1] },
    optimizer: optim.adam({ rate: 0.003 }),
  }),
  async batch(step, stage) {
    if (step === 0) replay = []
    if (step % 20 === 0 || !replay.length) await selfPlay(stage)
    const picked = Array.from({ length: BATCH }, () => replay[random.int(replay.length)]!)
    return { x: Float32Array.from(picked.flatMap((p) => encode(p.board))), worth: Float32Array.from(picked, (p) => p.worth) }
  },
  view(host, stage) {
    // The visitor is -1 on this board, the network 1.
    let board: Board = new Array<number>(9).fill(0)
    const cells = board.map((_, i) => button('', () => void play(i), { class: 'cell' }))
    const says = el('p', { class: 'answer', role: 'status' }, 'Your move.')
    const score = el('p', { class: 'muted' })
    const paint = (worth?: Map<number, number>) => cells.forEach((c, i) => {
      c.textContent = board[i] === 0 ? '' : board[i] === 1 ? '○' : '×'
      c.setAttribute('aria-label', `row ${Math.floor(i / 3) + 1}, column ${(i % 3) + 1}: ${board[i] === 0 ? 'free' : board[i] === 1 ? 'network' : 'you'}`)
      c.title = worth?.has(i) ? `worth ${worth.get(i)!.toFixed(2)} to the network` : ''
    })
    const over = () => (hasWon(board, -1) ? 'You win.' : hasWon(board, 1) ? 'The network wins.' : isFull(board) ? 'A draw.' : '')
    async function answer(): Promise<void> {
      const list = (await options(stage(), [board]))[0]!
      const best = list.reduce((a, b) => (b.worth > a.worth ? b : a))
      board = best.board
      paint()
      cells[best.i]!.classList.add('fresh')
      says.textContent = over() || `Your move. The network thinks it is worth ${best.worth.toFixed(2)} to it.`
    }
    async function play(i: number): Promise<void> {
      if (over() || board[i] !== 0) return
      board = board.map((c, k) => (k === i ? -1 : c))
      cells.forEach((c) => c.classList.remove('fresh'))
      paint()
      says.textContent = over()
      if (!over()) await answer()
    }
    const fresh = (first: boolean) => {
      board = new Array<number>(9).fill(0)
      cells.forEach((c) => c.classList.remove('fresh'))
      paint()
      says.textContent = 'Your move.'
      if (first) void answer()
    }
    host.append(el('section', { class: 'panel' }, el('h2', null, 'Play'), el('div', { class: 'board', role: 'group', 'aria-label': 'Board' }, ...cells), says,
      el('div', { class: 'controls' }, button('New game', () => fresh(false)), button('Network begins', () => fresh(true))), score))
    paint()
    return {
      async draw(s) {
        const [won, lost] = await against(s)
        score.textContent = `Of ${TRIALS} games against random moves it wins ${won} and loses ${lost}.`
        host.dataset.lost = String(lost)
      },
    }
  },
})

const TRIALS = 40

/** Plays games against random moves; the sides alternate in moving first. Returns the numbers of won and lost games. */
async function against(stage: Stage): Promise<[number, number]> {
  const chance = new Random(11)
  let games: { board: Board, network: boolean }[] = Array.from({ length: TRIALS }, (_, i) => ({ board: new Array<number>(9).fill(0), network: i % 2 === 0 }))
  let [won, lost] = [0, 0]
  while (games.length) {
    const thinking = games.filter((g) => g.network)
    const choices = await options(stage, thinking.map((g) => g.board))
    const next: typeof games = []
    for (const g of games) {
      const list = g.network ? choices.shift()! : null
      const board = list ? list.reduce((a, b) => (b.worth > a.worth ? b : a)).board : move(g.board, free(g.board)[chance.int(free(g.board).length)]!)
      if (hasWon(board, 1)) g.network ? won++ : lost++
      else if (!isFull(board)) next.push({ board: turned(board), network: !g.network })
    }
    games = next
  }
  return [won, lost]
}
