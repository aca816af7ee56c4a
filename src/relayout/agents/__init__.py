"""The door for agents: questions about layouts over the Model Context Protocol, with limits that hold."""
