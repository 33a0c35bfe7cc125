export default {
  title: "Manual",
  base: "/manual/",
  ignoreDeadLinks: true,
};
