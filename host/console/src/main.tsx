import { render } from "preact";
import "./styles/tokens.css";
import "./styles/base.css";
import "./styles/shell.css";
import "./styles/parts.css";
import "./styles/pages.css";
import { App } from "./shell/app";

const root = document.getElementById("app");
if (root) render(<App />, root);
