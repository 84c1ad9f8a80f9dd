// What components find without asking for it. Written by `wellspring init`; safe to write again.
// A package is required by its name alone: it is fetched on deploy. For its types, `npm install` it here.

declare module "*";
declare var Buffer: any;
declare var process: { env: Record<string, string | undefined>; [name: string]: any };
declare var global: any;
