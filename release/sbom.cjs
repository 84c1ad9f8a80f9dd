// From `cargo metadata` to an SPDX document: every package in the binary, with its version, licence and source.
const [version, created] = process.argv.slice(2);
const metadata = JSON.parse(require("fs").readFileSync(0, "utf8"));
const nodes = new Map(metadata.resolve.nodes.map((node) => [node.id, node]));
const packages = new Map(metadata.packages.map((entry) => [entry.id, entry]));
const root = metadata.packages.find((entry) => entry.name === "wellspring").id;
const reached = new Set();
const visit = (id) => {
  if (reached.has(id)) return;
  reached.add(id);
  for (const dependency of nodes.get(id).deps) {
    // What only tests need is not in the binary.
    if (dependency.dep_kinds.some(({ kind }) => kind !== "dev")) visit(dependency.pkg);
  }
};
visit(root);
const spdxId = (id) => `SPDXRef-${packages.get(id).name}-${packages.get(id).version}`.replace(/[^A-Za-z0-9.-]/g, "-");
const entries = [...reached].sort().map((id) => {
  const { name, version, license, source } = packages.get(id);
  const purl = { referenceCategory: "PACKAGE-MANAGER", referenceType: "purl", referenceLocator: `pkg:cargo/${name}@${version}` };
  return {
    SPDXID: spdxId(id), name, versionInfo: version, licenseDeclared: (license ?? "NOASSERTION").replaceAll("/", " OR "),
    licenseConcluded: "NOASSERTION", copyrightText: "NOASSERTION", downloadLocation: source ? `https://crates.io/crates/${name}/${version}` : "NOASSERTION",
    ...(source ? { externalRefs: [purl] } : {}),
  };
});
const relationships = [...reached].sort().flatMap((id) =>
  nodes.get(id).deps.filter(({ pkg }) => reached.has(pkg)).map(({ pkg }) => ({ spdxElementId: spdxId(id), relationshipType: "DEPENDS_ON", relatedSpdxElement: spdxId(pkg) })));
console.log(JSON.stringify({
  spdxVersion: "SPDX-2.3", dataLicense: "CC0-1.0", SPDXID: "SPDXRef-DOCUMENT", name: `wellspring-${version}`,
  documentNamespace: `https://wellspring.invalid/spdx/wellspring-${version}`, creationInfo: { created, creators: ["Tool: release/sbom.cjs"] },
  packages: entries, relationships: [{ spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: spdxId(root) }, ...relationships],
}, null, 1));
