import { dismiss, toasts } from "../state/toasts";
import { Icon } from "../ui/icon";
import { Button } from "../ui/parts";

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map((toast) => (
        <div key={toast.id} class={`toast ${toast.tone}`}>
          <Icon name={toast.tone === "bad" ? "alert" : toast.tone === "good" ? "check" : "info"} />
          <span>{toast.text}</span>
          <span class="push" />
          <Button tone="bare" isLittle icon="close" says="Dismiss" onClick={() => dismiss(toast.id)} />
        </div>
      ))}
    </div>
  );
}
