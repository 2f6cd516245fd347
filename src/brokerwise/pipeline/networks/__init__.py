"""Networks: from the files that people have, or made to try things on."""
