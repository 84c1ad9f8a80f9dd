// The operator's users.

import { useState } from "preact/hooks";
import { send } from "../api/client";
import type { AdminUser } from "../api/types";
import { usePage } from "../state/resource";
import { session } from "../state/session";
import { count, duration } from "../state/time";
import { Confirm, FormDialog } from "../ui/dialog";
import { Ago, Badge, Bones, Button, Card, Failure, Field, PageHead } from "../ui/parts";
import { ShownKey } from "./keys";

export function AdminUsers() {
  const users = usePage<AdminUser>("/admin/users?limit=100");
  const [isAsked, setAsked] = useState(false);
  const [made, setMade] = useState("");
  const [gone, setGone] = useState<AdminUser | undefined>(undefined);
  const [edited, setEdited] = useState<AdminUser | undefined>(undefined);
  return (
    <div class="page">
      <PageHead
        title="Users"
        says="Accounts of this server; each sees only what is its own"
        actions={
          <Button tone="primary" icon="plus" onClick={() => setAsked(true)}>
            Create a user
          </Button>
        }
      />
      {users.error && <Failure error={users.error} retry={() => void users.reload()} />}
      <Card label="Users">
        {!users.data && !users.error && <Bones rows={4} />}
        <div class="lines">
          {users.data?.data.map((user) => (
            <div class="line source-line" key={user.id}>
              <span class="face" aria-hidden="true">
                {user.username.slice(0, 1)}
              </span>
              <span class="grow">
                <span class="cut name">{user.username}</span>
                <span class="cut tiny faint">{user.email}</span>
              </span>
              {user.role === "admin" && <Badge tone="accent">admin</Badge>}
              {user.quotas && <span class="tiny faint number">{`${count(user.quotas.daily_invocations)} runs, ${duration(user.quotas.daily_compute_ms)} a day`}</span>}
              <span class="tiny faint when">
                <Ago at_ms={user.created_at * 1000} />
              </span>
              <Button isLittle onClick={() => setEdited(user)}>
                Edit
              </Button>
              {user.id !== session.value?.user_id && <Button tone="bare" isLittle icon="trash" says={`Delete ${user.username}`} onClick={() => setGone(user)} />}
            </div>
          ))}
        </div>
      </Card>
      {isAsked && (
        <NewUser
          close={() => setAsked(false)}
          made={(user) => {
            setMade(user.api_key ?? "");
            void users.reload();
          }}
        />
      )}
      {edited && <Edit user={edited} close={() => setEdited(undefined)} saved={() => void users.reload()} />}
      {made && <ShownKey value={made} close={() => setMade("")} />}
      {gone && (
        <Confirm
          title={`Delete ${gone.username}?`}
          says="Everything the account has is deleted: sources, events, webhooks, keys. This cannot be undone."
          action="Delete the user"
          close={() => setGone(undefined)}
          act={async () => {
            await send("DELETE", `/admin/users/${gone.id}`);
            await users.reload();
          }}
        />
      )}
    </div>
  );
}

function NewUser({ close, made }: { close: () => void; made: (user: AdminUser) => void }) {
  const [username, setUsername] = useState("");
  const [email, setEmail] = useState("");
  const [isAdmin, setAdmin] = useState(false);
  return (
    <FormDialog title="Create a user" close={close} action="Create" isReady={username !== "" && email !== ""} submit={async () => made(await send<AdminUser>("POST", "/admin/users", { username, email, role: isAdmin ? "admin" : "member" }))}>
      <Field id="username" label="Name">
        <input id="username" class="input" autocomplete="off" value={username} maxLength={128} onInput={(event) => setUsername(event.currentTarget.value)} />
      </Field>
      <Field id="email" label="Email">
        <input id="email" class="input" type="email" autocomplete="off" value={email} onInput={(event) => setEmail(event.currentTarget.value)} />
      </Field>
      <label class="check">
        <input type="checkbox" checked={isAdmin} onChange={(event) => setAdmin(event.currentTarget.checked)} />
        An admin, who manages users, apps and the registry
      </label>
    </FormDialog>
  );
}

function Edit({ user, close, saved }: { user: AdminUser; close: () => void; saved: () => void }) {
  const [role, setRole] = useState(user.role);
  const [runs, setRuns] = useState(user.quotas?.daily_invocations ?? 0);
  const [compute, setCompute] = useState(Math.round((user.quotas?.daily_compute_ms ?? 0) / 1000));
  return (
    <FormDialog
      title={`Edit ${user.username}`}
      close={close}
      action="Save"
      submit={async () => {
        const limits = user.quotas ? { daily_invocations_quota: runs, daily_compute_time_quota: compute * 1000 } : {};
        await send("PUT", `/admin/users/${user.id}`, { ...(role === user.role ? {} : { role }), ...limits });
        saved();
      }}
    >
      <Field id="role" label="Role">
        <select id="role" class="input" value={role} onChange={(event) => setRole(event.currentTarget.value as AdminUser["role"])}>
          <option value="member">Member</option>
          <option value="admin">Admin</option>
        </select>
      </Field>
      {user.quotas && (
        <>
          <Field id="runs" label="Runs a day">
            <input id="runs" class="input number" type="number" min={0} value={runs} onInput={(event) => setRuns(Number(event.currentTarget.value))} />
          </Field>
          <Field id="compute" label="Seconds of compute a day">
            <input id="compute" class="input number" type="number" min={0} value={compute} onInput={(event) => setCompute(Number(event.currentTarget.value))} />
          </Field>
        </>
      )}
    </FormDialog>
  );
}
