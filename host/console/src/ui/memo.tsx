// A component that is drawn again only when what it is given has changed: for rows of long lists.

import { Component, type ComponentType } from "preact";

export function memo<Props extends object>(Inner: ComponentType<Props>): ComponentType<Props> {
  return class extends Component<Props> {
    override shouldComponentUpdate(next: Readonly<Props>): boolean {
      const names = Object.keys(next) as (keyof Props)[];
      return names.length !== Object.keys(this.props).length || names.some((name) => next[name] !== (this.props as Props)[name]);
    }

    override render() {
      return <Inner {...(this.props as Props)} />;
    }
  };
}
