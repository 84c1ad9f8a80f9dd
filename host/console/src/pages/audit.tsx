// What was changed, by whom, and how it ended.

import { useState } from "preact/hooks";
import { list } from "../api/client";
import type { AuditEntry } from "../api/types";
import { usePage } from "../state/resource";
import { may } from "../state/session";
import { At, Badge, Bones, Card, Choices, Empty, Failure, PageHead, Sentinel } from "../ui/parts";

type Whose = "mine" | "all";

export function Audit() {
  const [whose, setWhose] = useState<Whose>("mine");
  const path = whose === "mine" ? "/audit?limit=100" : "/admin/audit?limit=100";
  return (
    <div class="page">
      <PageHead title="Audit log" says="What was changed, and what was refused" />
      {may("admin") && (
        <div>
          <Choices<Whose>
            label="Whose"
            value={whose}
            change={setWhose}
            options={[
              { value: "mine", text: "This account" },
              { value: "all", text: "All accounts" },
            ]}
          />
        </div>
      )}
      <Entries key={path} path={path} showsUser={whose === "all"} />
    </div>
  );
}

function Entries({ path, showsUser }: { path: string; showsUser: boolean }) {
  const first = usePage<AuditEntry>(path);
  const [older, setOlder] = useState<AuditEntry[]>([]);
  const [isEnd, setEnd] = useState(false);
  const entries = [...(first.data?.data ?? []), ...older];
  const more = () => {
    const last = entries.at(-1);
    if (!last || isEnd || entries.length < 100) return;
    setEnd(true);
    void list<AuditEntry>(`${path}&after=${last.id}`).then((page) => {
      setOlder((before) => [...before, ...page.data]);
      setEnd(page.data.length < 100);
    });
  };
  if (first.error) return <Failure error={first.error} retry={() => void first.reload()} />;
  return (
    <Card label="Entries">
      {!first.data && <Bones rows={8} />}
      {first.data && entries.length === 0 && <Empty icon="audit" title="Nothing was changed yet" />}
      {entries.length > 0 && (
        <table class="grid stacking">
          <thead>
            <tr>
              <th>When</th>
              <th>What</th>
              {showsUser && <th>Who</th>}
              <th>With</th>
              <th>From</th>
              <th>Answer</th>
            </tr>
          </thead>
          <tbody>
            {entries.map((entry) => (
              <tr key={entry.id}>
                <td class="faint">
                  <At at_ms={entry.at_ms} />
                </td>
                <td>
                  <span class="mono tiny">{entry.action}</span>
                  <div class="tiny faint mono">{Object.values(entry.ids).join(" ")}</div>
                </td>
                {showsUser && <td>{entry.username ?? "operator"}</td>}
                <td class="quiet">{entry.via === "operator" ? "operator's socket" : (entry.key_name ?? entry.key_id)}</td>
                <td class="mono tiny quiet">{entry.from ?? "–"}</td>
                <td>
                  <Badge tone={entry.status < 400 ? "good" : "bad"}>{entry.status}</Badge>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {entries.length >= 100 && !isEnd && <Sentinel seen={more} />}
    </Card>
  );
}
