//! Dependency order: strongly connected components of a graph.

/// Returns the strongly connected components of a graph, dependencies first; `needs` lists the dependencies
/// of each node. Runs in linear time and without recursion, since chains may be long.
pub(crate) fn components(needs: &[Vec<usize>]) -> Vec<Vec<usize>> {
    let n = needs.len();
    let (mut index, mut low, mut on_stack) = (vec![usize::MAX; n], vec![0; n], vec![false; n]);
    let (mut stack, mut out, mut next) = (Vec::new(), Vec::new(), 0);
    for root in 0..n {
        if index[root] != usize::MAX {
            continue;
        }
        let mut walk = vec![(root, 0)];
        while let Some((v, at)) = walk.pop() {
            if at == 0 {
                (index[v], low[v]) = (next, next);
                next += 1;
                stack.push(v);
                on_stack[v] = true;
            }
            match needs[v].get(at) {
                Some(&w) => {
                    walk.push((v, at + 1));
                    if index[w] == usize::MAX {
                        walk.push((w, 0));
                    } else if on_stack[w] {
                        low[v] = low[v].min(index[w]);
                    }
                }
                None => {
                    for &w in &needs[v] {
                        if on_stack[w] {
                            low[v] = low[v].min(low[w]);
                        }
                    }
                    if low[v] == index[v] {
                        let mut group = Vec::new();
                        while let Some(w) = stack.pop() {
                            on_stack[w] = false;
                            group.push(w);
                            if w == v {
                                break;
                            }
                        }
                        group.sort_unstable();
                        out.push(group);
                    }
                }
            }
        }
    }
    out
}
