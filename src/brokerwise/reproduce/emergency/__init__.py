"""The emergency city: reports, people who move, shelters, and seven channels."""
