// The versions of a source or a workflow: a line for each, what changed with it, and the way back.

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { type Resource } from "../state/resource";
import { may } from "../state/session";
import { Ago, Badge, Bones, Button, Card, Failure } from "./parts";

interface Kept {
  version: number;
  current: boolean;
  created_at: number;
}

interface Props<Version extends Kept> {
  versions: Resource<Version[]>;
  /** Beside the number; with the version before, where that is kept. */
  line: (version: Version, before: Version | undefined) => ComponentChildren;
  difference: (before: Version, after: Version) => ComponentChildren;
  /** The dialog that asks before it goes back. */
  rollBack: (version: Version, close: () => void) => ComponentChildren;
  /** Below the first version, while it is the only one. */
  onlyOne: string;
}

export function Versions<Version extends Kept>({ versions, line, difference, rollBack, onlyOne }: Props<Version>) {
  const [open, setOpen] = useState<number | undefined>(undefined);
  const [back, setBack] = useState<Version | undefined>(undefined);
  const list = versions.data;
  if (versions.error && !list) return <Failure error={versions.error} retry={() => void versions.reload()} />;
  return (
    <Card label="Versions">
      {!list && <Bones rows={3} />}
      <div class="lines">
        {list?.map((version, index) => {
          const before = list[index + 1];
          const isOpen = open === version.version;
          return (
            <div class="event" key={version.version}>
              <div class="line wrap">
                <span class="strong number">{version.version}</span>
                {version.current && <Badge tone="good">Current</Badge>}
                {line(version, before)}
                <span class="tiny faint when">
                  <Ago at_ms={version.created_at * 1000} />
                </span>
                {before && (
                  <Button isLittle aria-expanded={isOpen} onClick={() => setOpen(isOpen ? undefined : version.version)}>
                    What changed
                  </Button>
                )}
                {!version.current && may("deploy") && (
                  <Button isLittle icon="back" onClick={() => setBack(version)}>
                    Roll back
                  </Button>
                )}
              </div>
              {before && isOpen && difference(before, version)}
            </div>
          );
        })}
      </div>
      {list?.length === 1 && <p class="body small quiet">{onlyOne}</p>}
      {back && rollBack(back, () => setBack(undefined))}
    </Card>
  );
}
