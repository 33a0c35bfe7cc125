export default {
  title: "Manual",
  base: "/manual/",
  ignoreDeadLinks: true,
  rewrites: (id) => id.replace(/(?<!(^|\/)index)\.md$/, "/index.md"),
};
