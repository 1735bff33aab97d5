'use strict'
const report = JSON.parse(document.getElementById('data').textContent)
const processes = report.processes || []
const began = Math.min(...processes.map(p => p.began))
const ended = Math.max(...processes.map(p => p.end), began + 1)
const byId = id => document.getElementById(id)
const list = x => x || []

// Words and numbers.
function time(ns) { // since the first process began
  const t = ns - began
  if (t < 1e6) return (t / 1e3).toFixed(1) + ' µs'
  return t < 1e9 ? (t / 1e6).toFixed(3) + ' ms' : (t / 1e9).toFixed(3) + ' s'
}
function lasted(ns) {
  if (ns < 1e3) return ns + ' ns'
  if (ns < 1e6) return (ns / 1e3).toFixed(1) + ' µs'
  return ns < 1e9 ? (ns / 1e6).toFixed(2) + ' ms' : (ns / 1e9).toFixed(3) + ' s'
}
function size(n) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let u = 0
  while (n >= 1024 && u < 4) { n /= 1024; u++ }
  return (n % 1 ? n.toFixed(1) : n) + ' ' + units[u]
}
const hex = n => '0x' + BigInt(n).toString(16)
const who = p => `${p.program || 'process'} (${p.pid})`
const thing = o => o && o.type ? `${o.type} ${o.name ? '“' + o.name + '”' : hex(o.handle || 0)}` : ''

// Elements.
function html(parent, tag, text, attributes = {}) {
  const e = document.createElement(tag)
  if (text !== undefined) e.textContent = text
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v)
  parent.append(e)
  return e
}
function svg(parent, tag, attributes = {}, text) {
  const e = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v)
  if (text !== undefined) e.textContent = text
  parent.append(e)
  return e
}
function row(body, cells) {
  const tr = html(body, 'tr')
  for (const c of cells) html(tr, 'td', c)
  return tr
}
function tell(text) { byId('told').textContent = text }
function telling(e, text) { // an element that says what it is: to the mouse, the keyboard and to readers
  e.setAttribute('tabindex', '0')
  e.setAttribute('aria-label', text)
  svg(e, 'title', {}, text)
  e.addEventListener('focus', () => tell(text))
  e.addEventListener('mouseenter', () => tell(text))
}

// What stands at the top.
function totals() {
  const body = byId('processes').querySelector('tbody')
  for (const p of processes) {
    row(body, [who(p), list(p.command).join(' '), p.driver, p.start.slice(0, 19).replace('T', ' '), lasted(p.end - p.began), p.outcome])
  }
  const count = of => processes.reduce((n, p) => n + list(of(p)).length, 0)
  const kept = processes.flatMap(p => list(p.allocations)).filter(a => !a.end)
  const numbers = [
    ['processes', processes.length], ['time', lasted(ended - began)],
    ['allocations', count(p => p.allocations)], ['never freed', kept.length, kept.length > 0],
    ['shared', list(report.links).length], ['queue work', count(p => p.work)],
    ['remote transfers', count(p => p.transfers)],
    ['packets gone wrong', count(p => p.packets), count(p => p.packets) > 0],
    ['findings', count(p => p.findings), count(p => p.findings) > 0], ['faults', count(p => p.faults)],
    ['errors', count(p => p.errors), count(p => p.errors) > 0],
  ]
  const dropped = processes.reduce((n, p) => n + (p.dropped || 0), 0)
  if (dropped) numbers.push(['events dropped', dropped, true])
  for (const [name, n, bad] of numbers) {
    const li = html(byId('totals'), 'li', undefined, bad ? { class: 'bad' } : {})
    html(li, 'b', n)
    li.append(name)
  }
}

function findings() {
  const all = []
  for (const p of processes) {
    for (const kind of ['findings', 'faults', 'errors']) for (const e of list(p[kind])) all.push([p, e])
  }
  all.sort((a, b) => a[1].time - b[1].time)
  byId('findings').hidden = all.length === 0
  const body = byId('findings').querySelector('tbody')
  for (const [p, e] of all) {
    const what = [e.id, e.command || e.operation, e.text].filter(Boolean).join(': ')
    const tr = row(body, [time(e.time), who(p), e.kind, what, thing(e.object)])
    if (e.stack) html(tr.children[3], 'pre', e.stack.join('\n'))
  }
}

function legend() {
  const kinds = { execute: 'a queue works', wait: 'it waits for a semaphore', signal: 'it signals one', transfer: 'remote memory',
    packet: 'packet gone wrong', shared: 'export, import or registration', finding: 'finding or error', fault: 'fault on command' }
  for (const [kind, text] of Object.entries(kinds)) {
    const li = html(byId('legend'), 'li')
    svg(svg(li, 'svg', { viewBox: '0 0 12 12' }), 'rect', { class: kind, width: 12, height: 12, rx: 2 })
    li.append(text)
  }
}

// The timeline.
const view = { from: began, to: ended }
const left = 170, laneHeight = 20
function lanes(p) {
  const found = new Map()
  const lane = (name, e) => { if (!found.has(name)) found.set(name, []); found.get(name).push(e) }
  for (const e of list(p.work)) lane(e.object.name || 'queue ' + hex(e.object.handle), e)
  for (const kind of ['transfers', 'packets']) {
    for (const e of list(p[kind])) lane(e.object && e.object.type === 'ibv_qp' ? 'queue pair ' + hex(e.object.handle) : 'fabric', e)
  }
  for (const e of list(p.shared)) lane('shared', e)
  for (const kind of ['findings', 'faults', 'errors']) for (const e of list(p[kind])) lane('told', e)
  return found
}
function describe(p, e) {
  const parts = [time(e.time), who(p), e.kind, e.operation, e.number && (e.kind === 'packet' ? 'packet ' : 'submission ') + e.number, thing(e.object),
    e.handle && 'as ' + e.handle, e.value && 'value ' + e.value, e.size && size(e.size), e.address && hex(e.address),
    e.duration && lasted(e.duration), e.id, e.text]
  return parts.filter(Boolean).join(' · ')
}
const mostShown = 3000 // more than anybody can tell apart, and as many as a page draws at once
function timeline() {
  const box = byId('timeline')
  const width = Math.max(box.clientWidth, 400)
  const x = t => left + (t - view.from) / (view.to - view.from) * (width - left - 10)
  box.replaceChildren()
  const drawing = svg(box, 'svg')
  let y = 24
  for (let i = 0; i <= 5; i++) {
    const t = view.from + (view.to - view.from) * i / 5
    svg(drawing, 'line', { class: 'grid', x1: x(t), x2: x(t), y1: 18, y2: 10000 })
    svg(drawing, 'text', { class: 'quiet', x: x(t), y: 13, 'text-anchor': i === 0 ? 'start' : i === 5 ? 'end' : 'middle' },
      time(t))
  }
  const places = []
  let shown = 0
  for (const p of processes) {
    svg(drawing, 'text', { class: 'head', x: 0, y: y + 14 }, who(p))
    y += 22
    y = usage(drawing, p, x, y)
    for (const [name, events] of lanes(p)) {
      svg(drawing, 'rect', { class: 'lane', x: left, y, width: width - left, height: laneHeight - 3 })
      svg(drawing, 'text', { class: 'quiet', x: 8, y: y + 13 }, name.length > 24 ? name.slice(0, 23) + '…' : name)
      if (name === 'shared' || (name === 'fabric' || name.startsWith('queue pair')) && places[processes.indexOf(p)] === undefined) {
        places[processes.indexOf(p)] = y + laneHeight / 2
      }
      let free = -1
      for (const e of events) {
        const end = e.time + (e.duration || 0)
        if (end < view.from || e.time > view.to || shown > mostShown) continue
        const at = Math.max(x(e.time), left), to = Math.min(x(end), width)
        const long = to - at > 3
        if (!long && at < free) continue // lies on the one before
        free = Math.max(at + 2, to)
        shown++
        const kind = ['import', 'export', 'register', 'deregister'].includes(e.kind) ? 'shared' : e.kind
        telling(long ? svg(drawing, 'rect', { class: kind, x: at, y: y + 1, width: to - at, height: laneHeight - 5, rx: 2 })
          : svg(drawing, 'path', { class: kind, d: `M${at} ${y + 1}l4 ${(laneHeight - 5) / 2}l-4 ${(laneHeight - 5) / 2}l-4 ${-(laneHeight - 5) / 2}z` }),
        describe(p, e))
      }
      y += laneHeight
    }
    y += 12
  }
  for (const l of list(report.links)) {
    if (l.from === l.to || places[l.from] === undefined || places[l.to] === undefined) continue
    if (l.end < view.from || l.start > view.to) continue
    const [x1, y1, x2, y2] = [x(l.start), places[l.from], x(l.end), places[l.to]]
    const bow = svg(drawing, 'path', { class: 'link', d: `M${x1} ${y1}C${x1 + 40} ${y1} ${x2 - 40} ${y2} ${x2} ${y2}` })
    telling(bow, `${l.what} ${l.name || ''} went from ${who(processes[l.from])} to ${who(processes[l.to])} as ${l.handle}`)
  }
  drawing.setAttribute('height', y)
}
function usage(drawing, p, x, y) { // what is allocated, over all heaps
  const steps = []
  for (const a of list(p.allocations)) {
    steps.push([a.start, a.size])
    if (a.end) steps.push([a.end, -a.size])
  }
  if (!steps.length) return y
  steps.sort((a, b) => a[0] - b[0])
  let now = 0, most = 1
  const heights = steps.map(([t, d]) => { now += d; most = Math.max(most, now); return [t, now] })
  const tall = 36, clamp = t => Math.min(Math.max(t, view.from), view.to)
  let path = `M${x(clamp(p.began))} ${y + tall}`, height = 0
  for (const [t, n] of heights) {
    path += `H${x(clamp(t)).toFixed(1)}V${(y + tall - n / most * (tall - 4)).toFixed(1)}`
    height = n
  }
  path += `H${x(clamp(p.end))}V${y + tall}z`
  telling(svg(drawing, 'path', { class: 'use', d: path }), `${who(p)}: at most ${size(most)} allocated, ${size(height)} at the end`)
  svg(drawing, 'text', { class: 'quiet', x: 8, y: y + 22 }, 'memory, ≤ ' + size(most))
  return y + tall + 4
}
function move(what) {
  const span = view.to - view.from, middle = (view.from + view.to) / 2
  const set = (from, to) => {
    const wide = Math.min(Math.max(to - from, 100), ended - began)
    view.from = Math.min(Math.max(from, began), ended - wide)
    view.to = view.from + wide
  }
  if (what === 'in') set(middle - span / 4, middle + span / 4)
  if (what === 'out') set(middle - span, middle + span)
  if (what === 'left') set(view.from - span / 4, view.to - span / 4)
  if (what === 'right') set(view.from + span / 4, view.to + span / 4)
  if (what === 'all') set(began, ended)
  timeline()
}

// The heaps: allocations are put where they find room, as low as possible.
function heaps() {
  for (const p of processes) {
    list(p.heaps).forEach((heap, index) => {
      const all = list(p.allocations).filter(a => (a.heap || 0) === index)
      if (!all.length) return
      const placed = []
      let top = 1
      for (const a of all.sort((a, b) => a.start - b.start)) {
        const end = a.end || p.end
        const beside = placed.filter(b => b.end > a.start).sort((a, b) => a.low - b.low)
        let low = 0
        for (const b of beside) {
          if (b.low - low >= a.size) break
          low = Math.max(low, b.low + b.a.size)
        }
        placed.push({ a, low, end })
        top = Math.max(top, low + a.size)
      }
      html(byId('heaps'), 'h3', `${who(p)}, heap ${index}: ${size(heap.size)} ${heap.text || ''}, at most ${size(top)} at once`)
      const width = 1000, tall = 160
      const drawing = svg(byId('heaps'), 'svg', { viewBox: `0 0 ${width} ${tall + 4}`, role: 'img' })
      svg(drawing, 'rect', { class: 'lane', width, height: tall })
      const shared = new Set(list(p.shared).map(e => e.payload))
      const span = Math.max(p.end - p.began, 1), scale = tall / (heap.size < top * 1.5 ? Math.max(heap.size, top) : top * 1.1)
      for (const { a, low, end } of placed.slice(0, mostShown)) {
        const kind = 'block' + (shared.has(a.payload) ? ' out' : '') + (a.end ? '' : ' kept')
        telling(svg(drawing, 'rect', { class: kind, x: (a.start - p.began) / span * width,
          width: Math.max((end - a.start) / span * width, 1.5), y: tall - (low + a.size) * scale, height: Math.max(a.size * scale, 1) }),
        `${a.name ? '“' + a.name + '”' : 'VkDeviceMemory ' + hex(a.handle)} · ${size(a.size)} · heap ${index} · type ${a.type || 0}` +
        `${a.from ? ' · imported as ' + a.from : ''} · ${time(a.start)} to ${a.end ? time(a.end) : 'the end: never freed'}`)
      }
      if (heap.size * scale <= tall) {
        svg(drawing, 'line', { class: 'full', x1: 0, x2: width, y1: tall - heap.size * scale + 1, y2: tall - heap.size * scale + 1 })
      }
    })
  }
}

function links() {
  byId('links').hidden = !list(report.links).length
  const body = byId('links').querySelector('tbody')
  for (const l of list(report.links)) {
    row(body, [who(processes[l.from]), who(processes[l.to]), l.what, l.handle, l.name || '', time(l.start), time(l.end)])
  }
}
function allocations() {
  const body = byId('allocations').querySelector('tbody')
  for (const p of processes) {
    for (const a of list(p.allocations).slice(0, mostShown)) {
      const tr = row(body, [who(p), hex(a.handle), a.name || '', size(a.size), a.heap || 0, a.type || 0, a.from || '',
        time(a.start), a.end ? time(a.end) : 'never'])
      if (a.stack) html(tr.children[8], 'pre', a.stack.join('\n'))
    }
  }
}

totals()
findings()
legend()
timeline()
heaps()
links()
allocations()
addEventListener('resize', timeline)
for (const b of document.querySelectorAll('button')) b.addEventListener('click', () => move(b.dataset.do))
const keys = { '+': 'in', '=': 'in', '-': 'out', ArrowLeft: 'left', ArrowRight: 'right', 0: 'all' }
byId('timeline').addEventListener('keydown', e => {
  if (!keys[e.key] || e.ctrlKey || e.metaKey || e.altKey) return
  e.preventDefault()
  move(keys[e.key])
  byId('timeline').focus()
})
