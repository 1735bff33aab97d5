package spirv

// dominators is the dominator tree of a graph whose entry is node 0.
type dominators struct {
	idom []int // -1 for the entry and for what can't be reached
	// A preorder number of the tree and the largest one below, from 1; 0 is not reached.
	first, last []int
}

func (d *dominators) reached(b int) bool { return d.first[b] != 0 }

func (d *dominators) dominates(a, b int) bool {
	return d.first[a] != 0 && d.first[a] <= d.first[b] && d.first[b] <= d.last[a]
}

// findDominators is Lengauer and Tarjan's algorithm, in its simple form: a module can make the well-known iterative
// one quadratic.
func findDominators(successors [][]int) dominators {
	n := len(successors)
	edges := 0
	for _, list := range successors {
		edges += len(list)
	}
	kept := slab[int](make([]int, 3*n))
	scratch := slab[int](make([]int, 10*n+1+edges))
	d := dominators{idom: kept.take(n), first: kept.take(n), last: kept.take(n)}
	t := tree{
		number: scratch.take(n), parent: scratch.take(n), semi: scratch.take(n), ancestor: scratch.take(n),
		label: scratch.take(n),
		path:  scratch.take(n),
	}
	for b := range n {
		d.idom[b], t.number[b] = -1, -1
	}
	vertex := t.search(successors, scratch.take(n)[:0])
	predecessors := scratch.take(edges) // of node b from at[b] to at[b+1]
	at := scratch.take(n + 1)
	for _, b := range vertex {
		for _, s := range successors[b] {
			at[s]++
		}
	}
	for b := range n {
		at[b+1] += at[b]
	}
	for _, b := range vertex {
		for _, s := range successors[b] {
			at[s]--
			predecessors[at[s]] = b
		}
	}
	// By vertex, those whose semidominator it is: the first, plus 1, and by each the next one.
	bucket, next := scratch.take(n), scratch.take(n)
	for i := len(vertex) - 1; i > 0; i-- {
		w := vertex[i]
		for _, v := range predecessors[at[w]:at[w+1]] {
			t.semi[w] = min(t.semi[w], t.semi[t.evaluate(v)])
		}
		s := vertex[t.semi[w]]
		bucket[s], next[w] = w+1, bucket[s]
		p := t.parent[w]
		t.ancestor[w] = p
		for v := bucket[p] - 1; v >= 0; v = next[v] - 1 {
			if u := t.evaluate(v); t.semi[u] < t.semi[v] {
				d.idom[v] = u
			} else {
				d.idom[v] = p
			}
		}
		bucket[p] = 0
	}
	for _, w := range vertex[1:] {
		if d.idom[w] != vertex[t.semi[w]] {
			d.idom[w] = d.idom[d.idom[w]]
		}
	}
	d.count(vertex, t.number, t.semi)
	return d
}

// count gives the intervals of the tree's preorder: a node's is its parent's, cut into the sizes of the subtrees.
// The other two are scratch, size and the number that the next child gets.
func (d *dominators) count(vertex, size, next []int) {
	clear(size)
	for i := len(vertex) - 1; i >= 0; i-- {
		w := vertex[i]
		size[w]++
		if i > 0 {
			size[d.idom[w]] += size[w]
		}
	}
	for i, w := range vertex {
		if i == 0 {
			d.first[w] = 1
		} else {
			p := d.idom[w]
			d.first[w] = next[p]
			next[p] += size[w]
		}
		d.last[w] = d.first[w] + size[w] - 1
		next[w] = d.first[w] + 1
	}
}

// tree is the depth-first tree in which Lengauer and Tarjan's algorithm looks for semidominators.
type tree struct {
	number          []int // in depth-first order, or -1
	parent          []int
	semi            []int // the number of the semidominator
	ancestor, label []int // of the forest; -1 for a root
	path            []int
}

func (t *tree) search(successors [][]int, vertex []int) []int {
	type frame struct{ block, next int }
	visit := func(b, parent int) {
		t.number[b], t.semi[b], t.parent[b], t.ancestor[b], t.label[b] = len(vertex), len(vertex), parent, -1, b
		vertex = append(vertex, b)
	}
	visit(0, -1)
	stack := make([]frame, 1, len(successors))
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if top.next == len(successors[top.block]) {
			stack = stack[:len(stack)-1]
			continue
		}
		b := successors[top.block][top.next]
		top.next++
		if t.number[b] < 0 {
			visit(b, top.block)
			stack = append(stack, frame{block: b})
		}
	}
	return vertex
}

// evaluate gives the node with the smallest semidominator on v's way to the root of its tree in the forest, the root
// left out, and shortens the way.
func (t *tree) evaluate(v int) int {
	if t.ancestor[v] < 0 {
		return v
	}
	t.path = t.path[:0]
	for u := v; t.ancestor[t.ancestor[u]] >= 0; u = t.ancestor[u] {
		t.path = append(t.path, u)
	}
	for i := len(t.path) - 1; i >= 0; i-- {
		u := t.path[i]
		a := t.ancestor[u]
		if t.semi[t.label[a]] < t.semi[t.label[u]] {
			t.label[u] = t.label[a]
		}
		t.ancestor[u] = t.ancestor[a]
	}
	return t.label[v]
}
