// A directed graph in columns: emitters on the left, what listens to them further right.

import { Link } from "../state/router";

export interface GraphNode {
  id: string;
  text: string;
  sub: string;
  to?: string;
}

export interface Edge {
  from: string;
  to: string;
  isError: boolean;
  says: string;
}

const WIDTH = 210;
const HEIGHT = 48;
const GAP_X = 110;
const GAP_Y = 18;

/** The column of each node: one more than the furthest that it listens to. Cycles end at the number of nodes. */
function columnsOf(nodes: GraphNode[], edges: Edge[]): Map<string, number> {
  const column = new Map(nodes.map((node) => [node.id, 0]));
  for (let round = 0; round < Math.min(nodes.length, 12); round += 1) {
    let isMoved = false;
    for (const edge of edges) {
      const next = (column.get(edge.from) ?? 0) + 1;
      if (edge.from !== edge.to && next > (column.get(edge.to) ?? 0) && next < 12) {
        column.set(edge.to, next);
        isMoved = true;
      }
    }
    if (!isMoved) break;
  }
  return column;
}

export function Graph({ nodes, edges }: { nodes: GraphNode[]; edges: Edge[] }) {
  const column = columnsOf(nodes, edges);
  const filled = new Map<number, number>();
  const place = new Map<string, { x: number; y: number }>();
  for (const node of nodes) {
    const at = column.get(node.id) ?? 0;
    const row = filled.get(at) ?? 0;
    filled.set(at, row + 1);
    place.set(node.id, { x: 20 + at * (WIDTH + GAP_X), y: 20 + row * (HEIGHT + GAP_Y) });
  }
  const width = 40 + Math.max(...filled.keys()) * (WIDTH + GAP_X) + WIDTH;
  const height = 40 + Math.max(...filled.values()) * (HEIGHT + GAP_Y) - GAP_Y;
  return (
    <div class="graph-scroll" tabIndex={0} role="region" aria-label="Drawing of the connections; the list below says the same">
      <svg class="graph" width={width} height={height} viewBox={`0 0 ${width} ${height}`}>
        <defs>
          <marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
            <path d="M1 1 7 4 1 7" fill="none" stroke="context-stroke" stroke-width="1.4" />
          </marker>
        </defs>
        {edges.map((edge, index) => {
          const from = place.get(edge.from);
          const to = place.get(edge.to);
          if (!from || !to) return null;
          const [x1, y1, x2, y2] = [from.x + WIDTH, from.y + HEIGHT / 2, to.x - 3, to.y + HEIGHT / 2];
          const bend = Math.max((x2 - x1) / 2, 40);
          return (
            <path key={index} class={`edge ${edge.isError ? "errors" : ""}`} d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`} marker-end="url(#arrow)">
              <title>{edge.says}</title>
            </path>
          );
        })}
        {nodes.map((node) => {
          const at = place.get(node.id) ?? { x: 0, y: 0 };
          const box = (
            <>
              <title>{`${node.text} ${node.sub}`}</title>
              <rect class="box" x={at.x} y={at.y} width={WIDTH} height={HEIGHT} rx="8" />
              <text x={at.x + 14} y={at.y + (node.sub ? 21 : 29)}>
                {fitted(node.text, 26)}
              </text>
              <text class="sub" x={at.x + 14} y={at.y + 37}>
                {fitted(node.sub, 28)}
              </text>
            </>
          );
          return node.to ? (
            <Link key={node.id} to={node.to}>
              {box}
            </Link>
          ) : (
            <g key={node.id}>{box}</g>
          );
        })}
      </svg>
    </div>
  );
}

function fitted(text: string, size: number): string {
  return text.length > size ? `${text.slice(0, size - 1)}…` : text;
}
