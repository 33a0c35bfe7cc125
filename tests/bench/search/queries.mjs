// What is searched for: identifiers, of which documentation is full, and questions as people ask them.

export const identifiers = [
  "--rm", "docker-compose.yml", "host.docker.internal", "/var/run/docker.sock", "daemon.json", "--mount",
  "DOCKER_HOST", ".dockerignore", "--network", "ENTRYPOINT", "/etc/docker/daemon.json", "overlay2",
];

export const questions = [
  "How do I limit a container's memory?",
  "Why can my container not resolve DNS names?",
  "What does the --mount flag do differently from --volume?",
  "change the default address pool of bridge networks",
  "Where does Docker keep volumes on disk?",
  "What is the difference between CMD and ENTRYPOINT?",
  "How do I remove unused images and volumes?",
  "restart a container automatically after a reboot",
  "pass a secret to a build without leaving it in a layer",
  "run the daemon without root",
  "Which log drivers keep logs on the host?",
  "share files between containers",
  "why is my image so large",
  "How do I push to a private registry?",
];
