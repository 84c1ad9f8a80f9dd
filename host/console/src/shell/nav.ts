// What the side, the palette and the shortcuts lead to.

import type { Scope } from "../api/types";
import type { IconName } from "../ui/icon";

export interface Place {
  to: string;
  text: string;
  icon: IconName;
  /** The second key after `g`. */
  key?: string;
  needs?: Scope;
}

export const PLACES: { title?: string; places: Place[] }[] = [
  {
    places: [
      { to: "/", text: "Overview", icon: "home", key: "o" },
      { to: "/sources", text: "Sources", icon: "source", key: "s" },
      { to: "/workflows", text: "Workflows", icon: "flow", key: "f" },
      { to: "/runs", text: "Runs", icon: "run", key: "r" },
    ],
  },
  {
    title: "Delivery",
    places: [
      { to: "/webhooks", text: "Webhooks", icon: "webhook", key: "w" },
      { to: "/connections", text: "Connections", icon: "graph", key: "c" },
      { to: "/dead-letters", text: "Dead letters", icon: "inbox", key: "d" },
    ],
  },
  {
    title: "Account",
    places: [
      { to: "/accounts", text: "Connected accounts", icon: "account", key: "a" },
      { to: "/keys", text: "API keys", icon: "key", key: "k" },
      { to: "/audit", text: "Audit log", icon: "audit", key: "l" },
    ],
  },
  {
    title: "Operator",
    places: [
      { to: "/admin/users", text: "Users", icon: "users", key: "u", needs: "admin" },
      { to: "/admin/apps", text: "Apps", icon: "app", needs: "admin" },
      { to: "/admin/registry", text: "Registry", icon: "code", needs: "admin" },
      { to: "/admin/server", text: "Server", icon: "bolt", key: "h", needs: "admin" },
    ],
  },
];
